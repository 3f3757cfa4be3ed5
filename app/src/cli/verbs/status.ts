// runnel status: the drives there are and how they do.
import type { Command } from "commander";
import { quoted, type ResultOf } from "../../agent/control/index.ts";
import type { MountStatus } from "../../agent/mount.ts";
import { withRunningAgent } from "../agent-connection.ts";
import { formatBytes, formatCount } from "../format.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { describeServer } from "../server-status.ts";

type Shown = Omit<ResultOf<"status">, "agent"> & { agent: ResultOf<"status">["agent"] | null };

export function addStatus(program: Command, output: Output): void {
  addVerb(program, "status", "Shows the drives of this user and how they do.", ["status"]).action(async () => {
    const status: Shown = (await withRunningAgent((client) =>
      client.ask<"status">({ verb: "status", asksServer: true }),
    )) ?? {
      agent: null,
      mounts: [],
      lost: [],
    };
    output.result(status, () => describeStatus(status));
  });
}

export function describeStatus({ mounts, lost }: Pick<Shown, "mounts" | "lost">): string[] {
  const lines = mounts.flatMap(describeMount);
  for (const { url, mountpoint } of lost) {
    lines.push(
      mountpoint,
      `  The agent ended without unmounting. Map it again: runnel mount ${url} ${quoted(mountpoint)}`,
      `  Or forget it: runnel unmount ${quoted(mountpoint)}`,
    );
  }
  return lines.length > 0 ? lines : ["No drives are mounted. Map one: runnel mount ws://HOST:PORT/VOLUME MOUNTPOINT"];
}

function describeConflict(path: string, keptBeside: string): string {
  if (path === keptBeside)
    return `${path} was changed here and removed or replaced elsewhere. It is kept under this name.`;
  return `${path} was changed here and elsewhere. Both are kept; the other is ${keptBeside}.`;
}

function describeMount(mount: MountStatus): string[] {
  const lines = [`${mount.mountpoint}  ${mount.url}`, `  ${mount.sentence}`];
  if (mount.unsentFiles > 0) {
    lines.push(
      `  ${formatCount(mount.unsentFiles, "file", "files")} (${formatBytes(mount.unsentBytes)}) not yet on the server.`,
    );
  }
  for (const { operation, for: whom } of mount.waiting) lines.push(`  Waiting for ${whom.join(", ")}: ${operation}.`);
  for (const { path, keptBeside } of mount.conflicts) {
    lines.push(`  ${describeConflict(path, keptBeside)}`);
  }
  for (const problem of mount.problems) lines.push(`  ${problem}`);
  if (mount.server !== null) lines.push(...describeServer(mount.server).map((line) => `  ${line}`));
  return lines;
}
