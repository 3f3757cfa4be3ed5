// The crash table of commits (docs/FORMAT.md): killed, or its power cut, at each disk operation, a volume that is
// opened again has all that it acknowledged, nothing mixed, and answers repetitions with what it answered then. The
// same with the meta store lost besides.
import { describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { VolumeRig, bytesOf } from "./volume-rig.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
/**
 * Without RUNNEL_LONG only some stops are tried; 229 is one: a rename and the write behind it were torn, what came
 * after was not.
 */
const STRIDE = 11;
const FIRST = 229 % STRIDE;
const BIG = bytesOf(7, 60_000);

interface Step {
  path: string;
  /** It uses the number that it is given. */
  isNumbered?: boolean;
  act(rig: VolumeRig, n: number): Promise<unknown>;
}

function writeStep(path: string, bytes: Uint8Array): Step {
  return { path, isNumbered: true, act: async (rig, n) => rig.write(await rig.nodeAt(path), bytes, n) };
}

/** Steps, each acknowledged before the next. */
const STEPS: Step[] = [
  writeStep("docs/a", Buffer.from("a second")),
  { path: "docs/b", act: async (rig) => rig.prepend(await rig.nodeAt("docs/b"), Buffer.from("in front of it")) },
  { path: "docs/new", act: async (rig) => rig.make(await rig.nodeAt("docs"), "new") },
  writeStep("docs/new", Buffer.from("new file")),
  { path: "docs/d", act: (rig) => rig.rename("docs/c", "docs/d") },
  { path: "sub", act: (rig) => rig.folder(ROOT_NODE, "sub") },
  { path: "sub/a", act: (rig) => rig.rename("docs/a", "sub/a") },
  writeStep("sub/a", Buffer.from("a third, elsewhere")),
  { path: "docs/gone", act: (rig) => rig.remove("docs/gone") },
  { path: "docs/x", act: (rig) => rig.rename("docs/x", "docs/y", "exchange") },
  { path: "docs/b", act: async (rig) => rig.prepend(await rig.nodeAt("docs/b"), Buffer.from("and once more, ")) },
  // A program that saves by a file of its own, which takes the name of the old one.
  { path: "docs/saved", act: async (rig) => rig.make(await rig.nodeAt("docs"), "saved") },
  writeStep("docs/saved", Buffer.from("saved beside")),
  { path: "docs/d", act: (rig) => rig.rename("docs/saved", "docs/d") },
  { path: "docs/deep", act: async (rig) => rig.folder(await rig.nodeAt("docs"), "deep") },
  { path: "docs/deep/a", act: (rig) => rig.rename("sub/a", "docs/deep/a") },
  { path: "docs", isNumbered: true, act: (rig, n) => rig.removeAll("docs", { n }) },
];

async function prepared(seed: number): Promise<VolumeRig> {
  const rig = await VolumeRig.open(seed);
  const docs = await rig.folder(ROOT_NODE, "docs");
  for (const name of ["a", "c", "gone", "x", "y"]) await rig.file(docs, name, `${name} first`);
  await rig.file(docs, "b", BIG);
  await rig.settle();
  await rig.volume.meta.checkpoint();
  return rig;
}

/** The tree after each step, undisturbed: before any step first. */
async function expected(): Promise<{ trees: Map<string, string>[]; operations: number }> {
  const rig = await prepared(0);
  const trees = [await rig.tree()];
  const before = rig.disk.operations;
  for (const step of STEPS) {
    await step.act(rig, 1_000 + trees.length);
    trees.push(await rig.tree());
  }
  await rig.clock.advance(0);
  await rig.settle();
  const operations = rig.disk.operations - before;
  expect(await rig.files()).toEqual(trees.at(-1));
  await rig.close();
  return { trees, operations };
}

async function disturbed(
  at: number,
  how: "kill" | "cutPower",
  losesMeta: boolean,
): Promise<{ rig: VolumeRig; acknowledged: number; wasStopped: boolean; answers: Map<number, unknown> }> {
  const rig = await prepared(at);
  let left = at;
  let acknowledged = 0;
  const answers = new Map<number, unknown>();
  rig.disk.fault = () => (left-- > 0 ? undefined : "Io");
  try {
    for (const [index, step] of STEPS.entries()) {
      const result = await step.act(rig, 1_001 + index);
      if (step.isNumbered === true) answers.set(1_001 + index, result);
      acknowledged = index + 1;
    }
    await rig.clock.advance(0);
    await rig.clock.advance(2_000);
  } catch {
    // Stopped.
  }
  const wasStopped = left < 0;
  await rig[how]();
  if (losesMeta) rig.loseMeta();
  await rig.open();
  await rig.settle();
  return { rig, acknowledged, wasStopped, answers };
}

describe.each(["kill", "cutPower"] as const)("a volume stopped by %s", (how) => {
  test.each([
    ["[F61] rolls its index forward and has all it acknowledged", false],
    ["[F65] [F67] salvages all it acknowledged when the meta store is lost too", true],
  ])(
    "%s",
    async (_title, losesMeta) => {
      const { trees, operations } = await expected();
      let stopped = 0;
      for (let at = LONG ? 0 : FIRST; at < operations; at += LONG ? 1 : STRIDE) {
        const { rig, acknowledged, wasStopped, answers } = await disturbed(at, how, losesMeta);
        if (wasStopped) stopped++;
        try {
          const tree = await rig.tree();
          // The one under way may have happened; no other state may show.
          const possible = [trees[acknowledged], trees[acknowledged + 1]].filter((one) => one !== undefined);
          expect(possible.map((one) => show(one))).toContainEqual(show(tree));
          expect(await rig.files()).toEqual(tree);
          expect(rig.volume.content.status()).toMatchObject({ pendingCommits: 0, stuck: undefined });
          expect((await rig.volume.content.notices()).filter(({ kind }) => kind !== "salvaged")).toEqual([]);
          expect(rig.volume.salvaged?.missing ?? []).toEqual([]);
          expect(rig.warnings.filter((warning) => warning.includes("could not"))).toEqual([]);
          for (const [n, answer] of losesMeta ? [] : answers) expect(await stored(rig, n)).toEqual(answer);
        } catch (error) {
          throw new Error(`Stopped after ${at} of ${operations} operations, ${acknowledged} steps acknowledged`, {
            cause: error,
          });
        }
        await rig.close();
      }
      expect(stopped).toBeGreaterThan(0);
    },
    120_000,
  );
});

/** Result stored for a number, as a repetition of the operation is answered; for steps that used the number. */
async function stored(rig: VolumeRig, n: number): Promise<unknown> {
  const { instance, digest } = rig.id(n);
  return rig.volume.commit({ op: "setAttr", node: ROOT_NODE, change: {} }, { instance, n, digest }, undefined);
}

function show(tree: Map<string, string>): string[] {
  return [...tree].map(([path, what]) => `${path}: ${what}`).sort();
}
