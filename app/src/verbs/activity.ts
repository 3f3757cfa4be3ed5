// runnel activity: what happened lately on the drives of this user.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import type { ActivityEntry } from "../agent/view/activity.ts";
import { describeActivity } from "../agent/view/describe-activity.ts";
import { HAPPENINGS } from "../agent/view/mount-watch.ts";
import { askAgent } from "../cli/agent-connection.ts";
import { formatBytes, formatTime } from "../cli/format.ts";
import { addVerb } from "../cli/verb.ts";
import { count, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const LIMIT_MAX = 500;
const SHOWN = 30;

const Entry: z.ZodType<ActivityEntry> = z.object({
  id: z.int(),
  turn: z.int(),
  fromMs: count,
  toMs: count,
  url: text,
  mountpoint: text,
  kind: z.enum(HAPPENINGS),
  folder: z.string(),
  name: z.string(),
  count,
  bytes: count,
  detail: z.string(),
});

const schemas = {
  /** `before`: only entries whose turn is smaller. */
  asks: z.object({ before: z.int().optional(), limit: z.int().min(1).max(LIMIT_MAX) }),
  /** The entry that was added to last comes first. `next`: what to ask for to go on; null: there is no more. */
  gives: z.object({ activity: z.array(Entry.and(z.object({ sentence: z.string() }))), next: z.int().nullable() }),
};

type Shown = z.infer<typeof schemas.gives>["activity"][number];

export const activity = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { before, limit }) {
    const entries = await agent.history.activity(limit, before);
    return {
      activity: entries.map((entry) => ({ ...entry, sentence: describeActivity(entry) })),
      next: entries.length < limit ? null : (entries.at(-1)?.turn ?? null),
    };
  },

  addCommand(program, output) {
    addVerb(program, "activity", "Shows what happened lately on the drives of this user.", [
      "activity",
      "activity --limit 100",
    ])
      .option("--limit <count>", `entries that are shown, at most ${LIMIT_MAX} (default: ${SHOWN})`)
      .action(async (options: { limit?: string }) => {
        const result = await askAgent("activity", schemas, { limit: parseLimit(options.limit) });
        output.result(result, () =>
          result.activity.length === 0 ? ["Nothing has happened yet."] : result.activity.map(describeEntry),
        );
      });
  },
});

/** @throws RunnelError Invalid */
function parseLimit(typed: string | undefined): number {
  const limit = Number(typed ?? SHOWN);
  if (Number.isInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw new RunnelError("Invalid", "read the command", `--limit takes a number from 1 to ${LIMIT_MAX}.`);
}

function describeEntry({ toMs, mountpoint, bytes, sentence }: Shown): string {
  const size = bytes === 0 ? "" : `  (${formatBytes(bytes)})`;
  return `${formatTime(toMs)}  ${mountpoint}  ${sentence}${size}`;
}
