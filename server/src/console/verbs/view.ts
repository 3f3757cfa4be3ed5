// The running server as a page follows it, until it is cancelled: the overview and lists for admins, volumes for
// everybody. Looking at what others do is in the audit log, once when it begins.
import type { ViewItem } from "@runnel/shared";
import { z } from "zod";
import { Overview } from "../../live/rows.ts";
import { consoleVerb } from "../console-verb.ts";
import { type ConsolePart, VIEW_LISTS } from "../views.ts";
import { nothing } from "./schemas.ts";
import { shownVolumes } from "./volumes.ts";

const List = z.enum(VIEW_LISTS);
/** Fields beside the key are those of the list. */
const Item: z.ZodType<ViewItem> = z.looseObject({ key: z.string() });
const Head = Overview.extend({ people: z.number() }).nullable();
const Omitted = z.partialRecord(List, z.number());

const Part: z.ZodType<ConsolePart> = z.union([
  z.object({ snapshot: z.object({ head: Head, lists: z.partialRecord(List, z.array(Item)), omitted: Omitted }) }),
  z.object({
    changes: z.object({
      head: Head.exactOptional(),
      lists: z.partialRecord(List, z.object({ put: z.array(Item), gone: z.array(z.string()) })),
      omitted: Omitted.exactOptional(),
    }),
  }),
]);

export const view = consoleVerb(
  { asks: z.object({ wants: z.array(List).max(VIEW_LISTS.length) }), part: Part, gives: nothing },
  {
    role: "admin",
    async handle({ security, views }, { wants }, { actor }, call) {
      if (wants.some((list) => list !== "volumes")) security.audit.note({ who: actor, act: "live", result: "done" });
      await views.follow(wants, call);
      return {};
    },
  },
);

export const viewVolumes = consoleVerb(
  { asks: nothing, part: Part, gives: nothing },
  {
    role: "user",
    async handle(deps, _request, caller, call) {
      await deps.views.followVolumes((rows) => shownVolumes(deps, caller, rows), call);
      return {};
    },
  },
);
