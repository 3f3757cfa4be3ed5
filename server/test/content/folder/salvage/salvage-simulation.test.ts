// Clients change a small tree, one change acknowledged before the next, until the machine stops at some disk operation
// and the meta store is lost with it: what was acknowledged is there afterwards, at its names and at no others.
import { describe, expect, test } from "@jest/globals";
import { ROOT_NODE, SeededRandom } from "@runnel/shared";
import { VolumeRig } from "../../../volume/volume-rig.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
const SEEDS = Number(process.env["SEEDS"] ?? (LONG ? 2000 : 40));
const FIRST_SEED = Number(process.env["SEED"] ?? 1);
const STEPS = 24;
const OPERATIONS_MAX = 700;
const NAMES = ["a", "b", "c", "sub", "sub/a", "sub/b"];

/** The thing that a path is bound to: two names of one file share it. */
interface Shown {
  type: "file" | "folder";
  text: string;
}
type Tree = Map<string, Shown>;

/** A change of the model, and how it is asked of the volume. */
interface Step {
  what: string;
  tree: Tree;
  act(rig: VolumeRig): Promise<unknown>;
}

function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

async function folderNode(rig: VolumeRig, path: string): Promise<number> {
  const folder = folderOf(path);
  return folder === "" ? ROOT_NODE : rig.nodeAt(folder);
}

function isEmpty(tree: Tree, path: string): boolean {
  return [...tree.keys()].every((other) => !other.startsWith(`${path}/`));
}

function moved(tree: Tree, moves: readonly (readonly [string, string])[]): Tree {
  const kept = [...tree].filter(([path]) => !moves.some(([, to]) => path === to));
  const at = (path: string): string => {
    for (const [from, to] of moves)
      if (path === from || path.startsWith(`${from}/`)) return to + path.slice(from.length);
    return path;
  };
  const isExchange = moves.length > 1;
  return new Map((isExchange ? [...tree] : kept).map(([path, shown]) => [at(path), shown]));
}

/** Draws a step that the tree allows, or undefined when what was drawn is none. */
function draw(tree: Tree, random: SeededRandom, count: number): Step | undefined {
  const path = NAMES[random.below(NAMES.length)] as string;
  const to = NAMES[random.below(NAMES.length)] as string;
  const [here, there] = [tree.get(path), tree.get(to)];
  const hasFolder = (each: string): boolean => folderOf(each) === "" || tree.get(folderOf(each))?.type === "folder";
  const written: Shown = { type: "file", text: `content ${count}`.padEnd(12 + (count % 5), ".") };
  switch (random.below(9)) {
    case 0:
      if (here !== undefined || !hasFolder(path)) return undefined;
      return {
        what: `mkdir ${path}`,
        tree: new Map([...tree, [path, { type: "folder", text: "" }]]),
        act: async (rig) => rig.folder(await folderNode(rig, path), nameOf(path)),
      };
    case 1:
      if (here === undefined || (here.type === "folder" && !isEmpty(tree, path))) return undefined;
      return {
        what: `remove ${path}`,
        tree: new Map([...tree].filter(([other]) => other !== path)),
        act: (rig) => rig.remove(path),
      };
    case 2:
    case 3:
      return drawRename(tree, path, to);
    case 4:
      if (here === undefined || there === undefined || here === there) return undefined;
      if (path.startsWith(`${to}/`) || to.startsWith(`${path}/`)) return undefined;
      return {
        what: `exchange ${path} ${to}`,
        tree: moved(tree, [
          [path, to],
          [to, path],
        ]),
        act: (rig) => rig.rename(path, to, "exchange"),
      };
    case 8:
      if (here?.type !== "file" || there !== undefined || !hasFolder(to)) return undefined;
      return {
        what: `link ${path} ${to}`,
        tree: new Map([...tree, [to, here]]),
        act: async (rig) =>
          rig.commit({
            op: "link",
            node: await rig.nodeAt(path),
            folder: await folderNode(rig, to),
            name: nameOf(to),
          }),
      };
    case 5:
      if (here !== undefined || !hasFolder(path)) return undefined;
      return {
        what: `make ${path}`,
        tree: new Map([...tree, [path, { type: "file", text: "" }]]),
        act: async (rig) => rig.make(await folderNode(rig, path), nameOf(path)),
      };
    default:
      if (here?.type !== "file") return undefined;
      return {
        what: `write ${path} ${written.text}`,
        tree: new Map([...tree].map(([other, shown]) => [other, shown === here ? written : shown] as const)),
        act: async (rig) => rig.write(await rig.nodeAt(path), Buffer.from(written.text)),
      };
  }
}

function drawRename(tree: Tree, path: string, to: string): Step | undefined {
  const [here, there] = [tree.get(path), tree.get(to)];
  const parent = folderOf(to);
  if (here === undefined || path === to || here === there || to.startsWith(`${path}/`)) return undefined;
  if (parent !== "" && tree.get(parent)?.type !== "folder") return undefined;
  if (there !== undefined && (there.type !== here.type || !isEmpty(tree, to))) return undefined;
  return { what: `rename ${path} ${to}`, tree: moved(tree, [[path, to]]), act: (rig) => rig.rename(path, to) };
}

function show(tree: Tree): string[] {
  return [...tree].map(([path, { type, text }]) => `${path}: ${type === "file" ? `file ${text}` : type}`).sort();
}

async function simulate(seed: number, how: "kill" | "cutPower"): Promise<void> {
  const random = new SeededRandom(seed);
  const rig = await VolumeRig.open(seed);
  const history: string[] = [];
  let tree: Tree = new Map();
  let next: Tree | undefined;
  let left = random.below(OPERATIONS_MAX);
  const step = async (count: number): Promise<void> => {
    const drawn = draw(tree, random, count);
    if (drawn === undefined) return;
    next = drawn.tree;
    history.push(drawn.what);
    await drawn.act(rig);
    tree = drawn.tree;
    next = undefined;
    const waitMs = [0, 0, 0, 1, 100, 3_000][random.below(6)] ?? 0;
    if (waitMs === 0) return;
    history.push(`… ${waitMs}`);
    await rig.clock.advance(waitMs);
  };
  try {
    for (let count = 0; count < 12; count++) await step(count);
    rig.disk.fault = () => (left-- > 0 ? undefined : "Io");
    for (let count = 0; count < STEPS; count++) await step(100 + count);
  } catch {
    // Stopped.
  }
  history.push("***");
  try {
    await rig[how]();
    rig.loseMeta();
    await rig.open();
    await rig.settle();
    const files = [...(await rig.files())].map(([path, what]) => `${path}: ${what}`).sort();
    expect([tree, next ?? tree].map(show)).toContainEqual(files);
    expect(await rig.tree()).toEqual(await rig.files());
    expect(rig.volume.salvaged?.missing ?? []).toEqual([]);
    expect(rig.volume.salvaged?.conflictCopies ?? []).toEqual([]);
  } catch (error) {
    throw new Error(`Seed ${seed}, ${how}:\n${history.join("\n")}`, { cause: error });
  }
  await rig.close();
}

describe("a stop with the loss of the meta store", () => {
  test.each(["kill", "cutPower"] as const)(
    `[F65] leaves all that was acknowledged at its names, and at no others: %s (seeds ${FIRST_SEED} to ${FIRST_SEED + SEEDS - 1})`,
    async (how) => {
      for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) await simulate(seed, how);
    },
    600_000,
  );
});
