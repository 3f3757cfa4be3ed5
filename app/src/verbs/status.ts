// runnel status: the drives there are and how they do.
import { z } from "zod";
import { quoted } from "../agent/control/quoted.ts";
import { MountStatus, type PinStatus } from "../agent/mount-status.ts";
import { headOf } from "../agent/view/head.ts";
import { askRunningAgent } from "../cli/agent-connection.ts";
import { formatBytes, formatCount, moreSpaceFor } from "../cli/format.ts";
import { addVerb } from "../cli/verb.ts";
import { watchAgent } from "../cli/watch-agent.ts";
import { count, HeadSchema, Place, text } from "./schemas.ts";
import { describeServer } from "../cli/describe-server.ts";
import { agentVerb } from "./verb.ts";

export const statusSchemas = {
  /** `asksServer`: each drive's server says how it stands with its folder. */
  asks: z.object({ asksServer: z.boolean().optional() }),
  /**
   * `lost`: drives that an earlier agent of this home did not end: it crashed or was killed. `resting`: drives that are
   * kept, and were unmounted when an agent ended.
   */
  gives: z.object({
    head: HeadSchema,
    agent: z.object({ pid: z.int(), version: text, home: text, startedMs: count }),
    mounts: z.array(MountStatus),
    lost: z.array(Place),
    resting: z.array(Place),
  }),
};

type AgentStatus = z.infer<typeof statusSchemas.gives>;

export const status = agentVerb(statusSchemas, {
  pageAsks: statusSchemas.asks,
  async handle(agent, { asksServer }) {
    const { version, home } = agent.deps;
    const mounts = await agent.mountsAt("status");
    const statuses = await Promise.all(mounts.map((mount) => mount.status(asksServer === true)));
    return {
      head: agent.views.head(statuses),
      agent: { pid: process.pid, version, home: home.folder, startedMs: agent.startedMs },
      mounts: statuses,
      lost: agent.lost.map(placeOf),
      resting: agent.resting.map(placeOf),
    };
  },

  addCommand(program, output) {
    addVerb(program, "status", "Shows the drives of this user and how they do.", ["status", "status --watch"])
      .option("--watch", "go on showing what moves, until Ctrl-C")
      .action(async (options: { watch?: true }) => {
        if (options.watch && (await watchAgent(output))) return;
        const shown = (await askRunningAgent("status", statusSchemas, { asksServer: true })) ?? {
          head: headOf({ drives: [], lost: [], transfers: [] }),
          agent: null,
          mounts: [],
          lost: [],
          resting: [],
        };
        output.result(shown, () => describeStatus(shown));
      });
  },
});

export function describeStatus({ head, mounts, lost, resting }: Omit<AgentStatus, "agent">): string[] {
  const isOne = mounts.length + lost.length + resting.length <= 1;
  // A single drive says it itself, but for what it does just now.
  const lines = isOne && head.state !== "working" ? [] : [head.sentence];
  lines.push(...mounts.flatMap(describeMount));
  for (const { url, mountpoint } of lost) {
    lines.push(
      mountpoint,
      `  The agent ended without unmounting. Map it again: runnel mount ${url} ${quoted(mountpoint)}`,
      `  Or forget it: runnel unmount ${quoted(mountpoint)}`,
    );
  }
  for (const { mountpoint } of resting) lines.push(mountpoint, "  Kept, and not mapped now. Map it: runnel reconnect");
  return lines.length > 0 ? lines : ["No drives are mounted. Map one: runnel mount ws://HOST:PORT/VOLUME MOUNTPOINT"];
}

function describeConflict({ path, conflictCopy, by }: MountStatus["conflicts"][number]): string {
  const kept =
    conflictCopy === null
      ? `It has what ${by} saved; the other content is among the server's old versions`
      : `What ${by} saved is ${conflictCopy}`;
  return `${path} was changed in two places. ${kept}. When you have seen to it: runnel settle`;
}

function describePin({ path, isThere, all, here, isComplete }: PinStatus): string {
  const what = path === "" ? "All of the drive" : path;
  if (!isThere) return `${what} is pinned; nothing is there now.`;
  if (isComplete) return `${what} is pinned: ${formatCount(all.files, "file", "files")}, all here.`;
  return `${what} is pinned: ${formatBytes(here.bytes)} of ${formatBytes(all.bytes)} are here.`;
}

function describeMount(mount: MountStatus): string[] {
  const lines = [`${mount.mountpoint}  ${mount.url}`, `  ${mount.sentence}`];
  if (mount.unsentFiles > 0) {
    lines.push(
      `  ${formatCount(mount.unsentFiles, "file", "files")} (${formatBytes(mount.unsentBytes)}) not yet on the server.`,
    );
  }
  for (const { operation, for: whom } of mount.waiting) lines.push(`  Waiting for ${whom.join(", ")}: ${operation}.`);
  for (const conflict of mount.conflicts) lines.push(`  ${describeConflict(conflict)}`);
  for (const pin of mount.pins) lines.push(`  ${describePin(pin)}`);
  for (const problem of mount.problems) lines.push(`  ${problem}`);
  if (mount.pinsLackBytes > 0) lines.push(`  ${moreSpaceFor(quoted(mount.mountpoint))}`);
  if (mount.server !== null) lines.push(...describeServer(mount.server).map((line) => `  ${line}`));
  return lines;
}

function placeOf({ url, mountpoint }: z.infer<typeof Place>): z.infer<typeof Place> {
  return { url, mountpoint };
}
