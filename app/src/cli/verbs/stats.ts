// runnel stats: what applications did, what crossed the wire, what was saved.
import type { Command } from "commander";
import type { ControlClient, ResultOf } from "../../agent/control/index.ts";
import type { MountStatistics, WireBytes } from "../../agent/mount.ts";
import { withAgent, withRunningAgent } from "../agent-connection.ts";
import { formatBytes, formatSaved, formatTable } from "../format.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

export function addStats(program: Command, output: Output): void {
  addVerb(program, "stats", "Shows the bytes that applications moved and those that crossed the wire.", [
    "stats ~/Docs",
    "stats --reset",
  ])
    .argument("[mountpoint]", "one drive (default: all)")
    .option("--reset", "start counting anew, after showing")
    .action(async (mountpoint: string | undefined, options: { reset?: true }) => {
      const where = mountpoint === undefined ? {} : { mountpoint: absolutePath(mountpoint) };
      const request = { verb: "statistics", reset: options.reset ?? false, ...where } as const;
      const ask = (client: ControlClient): Promise<ResultOf<"statistics">> => client.ask<"statistics">(request);
      // A named drive is looked for, and missed, by the agent.
      const result =
        mountpoint === undefined ? ((await withRunningAgent(ask)) ?? { mounts: [] }) : await withAgent(ask);
      output.result(result, () => describeStatistics(result));
    });
}

export function wireTotal(bytes: WireBytes): number {
  return bytes.data + bytes.recipes + bytes.metadata + bytes.overhead;
}

export function describeStatistics({ mounts }: ResultOf<"statistics">): string[] {
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
