// view: the state of all drives, then its changes, until it is cancelled; for windows, and for `runnel status --watch`.
import { z } from "zod";
import type { ViewItem } from "@runnel/shared";
import { VIEW_LISTS } from "../agent/view/view-state.ts";
import type { ViewPart } from "../agent/view/views.ts";
import { count, HeadSchema } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const List = z.enum(VIEW_LISTS);
/** Fields beside the key are those of the list. */
const Item: z.ZodType<ViewItem> = z.looseObject({ key: z.string() });
const Omitted = z.partialRecord(List, count);

const Part: z.ZodType<ViewPart> = z.union([
  z.object({
    snapshot: z.object({ head: HeadSchema, lists: z.partialRecord(List, z.array(Item)), omitted: Omitted }),
  }),
  z.object({
    changes: z.object({
      head: HeadSchema.exactOptional(),
      lists: z.partialRecord(List, z.object({ put: z.array(Item), gone: z.array(z.string()) })),
      omitted: Omitted.exactOptional(),
    }),
  }),
]);

export const viewSchemas = {
  /** `wants`: the lists that are shown; the head always is. */
  asks: z.object({ wants: z.array(List).max(VIEW_LISTS.length) }),
  part: Part,
  gives: z.object({}),
};

export const view = agentVerb(viewSchemas, {
  pageAsks: viewSchemas.asks,
  async handle(agent, { wants }, call) {
    await agent.views.follow(wants, call);
    return {};
  },
});
