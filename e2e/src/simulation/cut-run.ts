// A script performed on a drive whose line is cut at chosen frames, and what is left of it at both ends.
import { createHash } from "node:crypto";
import type { DiskRoot, LineConditions } from "@runnel/shared";
import { STORE_FOLDER } from "@runnel/shared";
import { SimulatedPlace } from "./simulated-place.ts";
import type { Step, Tree } from "./script.ts";
import { Steps } from "./script.ts";

export interface CutSettings {
  seed: number;
  line: Partial<LineConditions>;
  /** Files in the served folder before. */
  files: Record<string, Uint8Array>;
  /** Written by a program on the server right before the steps: reported, but not yet cut into chunks. */
  young?: Record<string, Uint8Array>;
  steps: readonly Step[];
  /** After which frames, of both directions, the line is cut while this step is performed; counted from 1. */
  cutsAfter(step: number): readonly number[];
  /** Asked at each cut: the server is killed too, and another one starts. */
  restarts(): boolean;
}

export interface Outcome {
  /** Frames handed over in each step. */
  frames: number[];
  cuts: number;
  /** Changes that the server has executed. */
  changes: number;
  /** Bytes of data in runs that arrived whole. */
  uploadedBytes: number;
  downloadedBytes: number;
  /** Bytes of those that came without a recipe, before compression. */
  rawBytes: number;
  /** Trees that the drive shows and that lies in the served folder. */
  drive: Tree;
  served: Tree;
}

/** @throws when a step fails although the line comes back, with the step's name. */
export async function cutRun(settings: CutSettings): Promise<Outcome> {
  const place = new SimulatedPlace(settings.seed, settings.line);
  await place.open(settings.files);
  const { line, mount } = place;
  const steps = new Steps(place.drive.program(), () =>
    place.until(async () => (await mount.status(false)).state === "connected"),
  );
  if (settings.young !== undefined) await place.run(place.writeServed(settings.young));
  const seqBefore = place.volume.seq;
  const frames: number[] = [];
  try {
    for (const [index, step] of settings.steps.entries()) {
      line.watch(settings.cutsAfter(index), () => {
        if (settings.restarts()) place.restart();
      });
      try {
        await place.run(step.act(steps));
      } catch (error) {
        throw new Error(`${step.what}: ${String(error)}\n${place.log.join("\n")}`, { cause: error });
      }
      frames.push(line.frames);
    }
    line.watch([], () => undefined);
    await place.settle();
    const { cuts, uploadedBytes, downloadedBytes, rawBytes } = line;
    const changes = place.volume.seq - seqBefore;
    const [drive, served] = [await place.run(steps.tree()), await place.run(servedTree(place.served))];
    return { frames, cuts, changes, uploadedBytes, downloadedBytes, rawBytes, drive, served };
  } finally {
    await place.close();
  }
}

/** Computes what the steps make of a tree. */
export function modelOf(files: Record<string, Uint8Array>, steps: readonly Step[]): Tree {
  const tree: Tree = new Map(
    Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes).toString("latin1")]),
  );
  for (const step of steps) step.model(tree);
  return tree;
}

/** A tree as something to compare and to read. */
export function describeTree(tree: Tree): string[] {
  return [...tree]
    .map(([path, content]) => (content === undefined ? `${path}/` : `${path} ${content.length}: ${digestOf(content)}`))
    .sort();
}

function digestOf(content: string): string {
  return createHash("sha256").update(content, "latin1").digest("hex").slice(0, 12);
}

async function servedTree(root: DiskRoot): Promise<Tree> {
  const tree: Tree = new Map();
  const walk = async (folder: string): Promise<void> => {
    const found: { name: string; type: string }[] = [];
    await root.list(folder, (entries) => {
      for (const { name, stat } of entries) if (name !== undefined) found.push({ name, type: stat.type });
    });
    for (const { name, type } of found) {
      if (name === STORE_FOLDER) continue;
      const path = folder === "" ? name : `${folder}/${name}`;
      if (type === "folder") {
        tree.set(path, undefined);
        await walk(path);
      } else if (type === "symlink") tree.set(path, await root.readSymlink(path));
      else {
        const file = await root.open(path, "read");
        tree.set(path, Buffer.from(await file.read(0, (await file.stat()).sizeBytes)).toString("latin1"));
        await file.close();
      }
    }
  };
  await walk("");
  return tree;
}
