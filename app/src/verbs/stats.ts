// runnel stats: what applications did, what crossed the wire, what was saved.
import { z } from "zod";
import type { Mount } from "../agent/mount.ts";
import { type MountStatistics, type WireBytes, wireTotal } from "../agent/mount-status.ts";
import { askAgent, askRunningAgent } from "../cli/agent-connection.ts";
import { formatBytes, formatSaved, formatTable } from "../cli/format.ts";
import { absolutePath, addVerb } from "../cli/verb.ts";
import { MeasuredMounts, text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({ mountpoint: text.optional(), reset: z.boolean() }),
  gives: MeasuredMounts,
};

export const stats = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, reset }) {
    const mounts = await agent.mountsAt("stats", mountpoint);
    const measured = measure(mounts);
    if (reset) for (const mount of mounts) mount.resetStatistics();
    return measured;
  },

  addCommand(program, output) {
    addVerb(program, "stats", "Shows the bytes that applications moved and those that crossed the wire.", [
      "stats ~/Docs",
      "stats --reset",
    ])
      .argument("[mountpoint]", "one drive (default: all)", absolutePath)
      .option("--reset", "start counting anew, after showing")
      .action(async (mountpoint: string | undefined, { reset = false }: { reset?: boolean }) => {
        // A named drive is looked for, and missed, by the agent.
        const result =
          mountpoint === undefined
            ? ((await askRunningAgent("stats", schemas, { reset })) ?? { mounts: [] })
            : await askAgent("stats", schemas, { mountpoint, reset });
        output.result(result, () => describeStatistics(result));
      });
  },
});

export function measure(mounts: readonly Mount[]): z.infer<typeof MeasuredMounts> {
  return {
    mounts: mounts.map((mount) => ({
      url: mount.settings.url,
      mountpoint: mount.settings.mountpoint,
      statistics: mount.statistics(),
    })),
  };
}

export function describeStatistics({ mounts }: z.infer<typeof MeasuredMounts>): string[] {
  if (mounts.length === 0) return ["No drives are mounted, so there is nothing to show."];
  return mounts.flatMap(({ mountpoint, url, statistics }, index) => [
    ...(index > 0 ? [""] : []),
    `${mountpoint}  ${url}`,
    ...describeMount(statistics).map((line) => `  ${line}`),
  ]);
}
function wireRow(name: string, bytes: WireBytes): string[] {
  return [name, ...[bytes.data, bytes.recipes, bytes.metadata, bytes.overhead, wireTotal(bytes)].map(formatBytes)];
}

function describeMount(statistics: MountStatistics): string[] {
  const { applications, sent, received, reusedChunks } = statistics;
  return [
    `Applications wrote ${formatBytes(applications.writtenBytes)} and read ${formatBytes(applications.readBytes)}.`,
    ...formatTable([
      ["", "data", "recipes", "metadata", "overhead", "total"],
      wireRow("sent", sent),
      wireRow("received", received),
    ]),
    `Round trips: ${statistics.roundTrips}`,
    `Chunks reused: ${reusedChunks.base} from the base, ${reusedChunks.cache} from the cache, ${reusedChunks.server} at the server`,
    `Bytes reused: ${formatBytes(statistics.reusedBytes)}`,
    ...(statistics.offlineAnswers === 0 ? [] : [`Answered offline: ${statistics.offlineAnswers}`]),
    `Saved: ${formatSaved(statistics.savedPercent)}`,
  ];
}
