// runnel carry out, runnel carry in: a stick between devices that know the same volumes, in place of the line.
import { RunnelError } from "@runnel/shared/base";
import type { Call } from "@runnel/shared";
import { hostname } from "node:os";
import { z } from "zod";
import type { Agent } from "../../agent/agent.ts";
import { CarriedIn, CarriedOut, CarryProgress } from "../../agent/carry/carried.ts";
import type { Mount } from "../../agent/mount.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { formatBytes, formatCount } from "../../cli/format.ts";
import type { Output } from "../../cli/output.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const DEVICE_CHARACTERS = 64;
/** Time between two lines that say how far it is. */
const TOLD_EVERY_MS = 250;
/** Paths that are named at once. */
const PATHS_MAX = 1024;

const outSchemas = {
  asks: z.object({
    dir: text,
    /** Files and folders in drives; without any: what waits unsent in all of them. */
    paths: z.array(text).max(PATHS_MAX),
    /** Devices that it is for; left out: all that left a list on the stick. */
    devices: z.array(text).max(64).optional(),
  }),
  part: CarryProgress,
  gives: z.object({ carried: CarriedOut }),
};

const inSchemas = {
  asks: z.object({ dir: text }),
  part: CarryProgress,
  gives: z.object({ carried: CarriedIn }),
};

export const carryIn = agentVerb(inSchemas, {
  async handle(agent, { dir: asked }, call) {
    const dir = await stickAt(agent, "carry in", asked);
    const drives = (await mountsOf(agent, "carry in")).map(({ carrying }) => carrying);
    const carrier = await agent.deps.carrier();
    return { carried: await carrier.carryIn({ dir, drives, ...commonOf(agent, call) }) };
  },
});

export const carryOut = agentVerb(outSchemas, {
  async handle(agent, { dir: asked, paths, devices }, call) {
    const dir = await stickAt(agent, "carry out", asked);
    const pathsOf = new Map<Mount, string[]>();
    for (const each of paths) {
      const { mount, path } = await agent.locate("carry out", each);
      pathsOf.set(mount, [...(pathsOf.get(mount) ?? []), path]);
    }
    const mounts = paths.length > 0 ? [...pathsOf.keys()] : await mountsOf(agent, "carry out");
    const drives = mounts.map((mount) => ({ carrying: mount.carrying, paths: pathsOf.get(mount) ?? [] }));
    const carrier = await agent.deps.carrier();
    return { carried: await carrier.carryOut({ dir, drives, devices, ...commonOf(agent, call) }) };
  },

  addCommand(program, output) {
    addVerb(
      program,
      "carry",
      "Carries contents of files in drives on a stick, in place of the line.\nout writes what is in the files, and what waits unsent; without a path only that.\nin takes in what of them is current; the rest comes over the line.\nAnybody who finds the stick can read what is on it.",
      ["carry out /media/stick ~/Docs/photos", "carry in /media/stick"],
    )
      .addArgument(program.createArgument("<way>", "out of this computer, or into it").choices(["out", "in"]))
      .argument("<dir>", "a folder of the stick", absolutePath)
      .argument("[path...]", "out: files and folders in drives", appendPath)
      .option("--for <device>", "out: leave out what this device has, as it said with carry in", append)
      .action(async (way: "out" | "in", dir: string, paths: string[] = [], { for: devices }: { for?: string[] }) => {
        if (way === "in" && (paths.length > 0 || devices !== undefined)) {
          const more = paths[0] ?? `--for ${devices?.[0]}`;
          const sentence = `carry in takes in all that is current. Name only the stick, without ${more}.`;
          throw new RunnelError("Invalid", "carry in", sentence);
        }
        await (way === "in" ? takeIn(output, dir) : writeOut(output, { dir, paths, devices }));
      });
  },
});

function append(typed: string, before: string[] = []): string[] {
  return [...before, typed];
}

function appendPath(typed: string, before: string[] = []): string[] {
  return append(absolutePath(typed), before);
}

async function writeOut(output: Output, asked: z.input<typeof outSchemas.asks>): Promise<void> {
  const result = await askAgent("carryOut", outSchemas, asked, (part) => showProgress(output, part));
  output.endProgress();
  output.result(result, () => outLines(result.carried));
}

async function takeIn(output: Output, dir: string): Promise<void> {
  const result = await askAgent("carryIn", inSchemas, { dir }, (part) => showProgress(output, part));
  output.endProgress();
  output.result(result, () => inLines(result.carried));
}

/** @throws Invalid for a folder in a drive. */
async function stickAt(agent: Agent, operation: string, asked: string): Promise<string> {
  const { path, runnelMount } = await agent.resolve(asked);
  if (runnelMount === undefined) return path;
  throw new RunnelError("Invalid", operation, `${path} lies in a drive. Name a folder of a stick or a disk.`);
}

async function mountsOf(agent: Agent, operation: string): Promise<Mount[]> {
  const mounts = await agent.mountsAt(operation);
  if (mounts.length > 0) return mounts;
  throw new RunnelError("NotFound", operation, "No drive is mounted. Mount one first: runnel mount URL MOUNTPOINT");
}

function commonOf({ deps: { clock } }: Agent, call: Call<CarryProgress>) {
  let toldMs = -TOLD_EVERY_MS;
  const progress = (part: CarryProgress): void => {
    if (clock.bootMs() - toldMs < TOLD_EVERY_MS) return;
    toldMs = clock.bootMs();
    call.part(part).catch(() => undefined);
  };
  return { device: hostname().slice(0, DEVICE_CHARACTERS), signal: call.signal, progress };
}

function showProgress(output: Output, { files, bytes }: CarryProgress): void {
  output.progressLine(`${formatCount(files, "file", "files")}, ${formatBytes(bytes)}`);
}

function outLines({ files, unsentFiles, bytes, writtenBytes, failed, failures }: CarriedOut): string[] {
  const unsent = unsentFiles === 0 ? "" : ` and ${formatCount(unsentFiles, "unsent content", "unsent contents")}`;
  const all = `${formatCount(files, "file", "files")}${unsent}, ${formatBytes(bytes)}`;
  return [`The stick carries ${all}; ${formatBytes(writtenBytes)} were written.`, ...failureLines(failed, failures)];
}

function inLines({
  files,
  bytes,
  alreadyHere,
  superseded,
  sparedBytes,
  device,
  failed,
  failures,
}: CarriedIn): string[] {
  return [
    `${formatCount(files, "file", "files")}, ${formatBytes(bytes)}, came here: ${formatBytes(sparedBytes)} of that from the stick, which the line was spared.`,
    ...(alreadyHere === 0 ? [] : [`${formatCount(alreadyHere, "file was", "files were")} here already.`]),
    ...(superseded === 0 ? [] : [`${formatCount(superseded, "file has", "files have")} changed since, or are gone.`]),
    ...failureLines(failed, failures),
    `To carry less next time: runnel carry out DIR PATH --for ${device}`,
  ];
}

function failureLines(failed: number, failures: CarriedOut["failures"]): string[] {
  if (failed === 0) return [];
  const named = failures.map(({ path, reason }) => `${path}: ${reason}`);
  return [`${formatCount(failed, "file", "files")} could not be carried:`, ...named];
}
