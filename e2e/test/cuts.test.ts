// A drive in use while its line is cut: in each step of a script, after each of the step's frames, in either direction;
// and the same with another server after it. Nothing is done twice, and nothing that arrived is sent again.
import { beforeAll, describe, expect, test } from "@jest/globals";
import { cutRun, edit, exchange, link, makeFolder, modelOf, noiseOf, read } from "../src/simulation/index.ts";
import { remove, rename, save, saveNew, setMode, setXattr, describeTree, symlink } from "../src/simulation/index.ts";
import { together, truncate } from "../src/simulation/index.ts";
import type { CutSettings, Outcome } from "../src/simulation/index.ts";

const KiB = 1024;
const MiB = 1024 * KiB;
const DEADLINE_MS = 300_000;
const PARALLEL = 4;
/** With a server that starts again: every frame's turn comes in the steps' different lengths. */
const RESTART_STRIDE = 3;

const given = noiseOf(1, 120 * KiB);
const script: CutSettings = {
  seed: 1,
  line: { delayMs: 10, bytesPerSecond: 2_000_000 },
  files: { given },
  steps: [
    makeFolder("docs"),
    save("docs/a", Buffer.from("a small file")),
    rename("docs/a", "docs/b"),
    save("docs/big", noiseOf(2, 100 * KiB)),
    edit("docs/big", 50 * KiB, Buffer.from("edited")),
    read("given", given),
    edit("docs/b", 3, Buffer.from("other words")),
    makeFolder("old"),
    rename("docs/b", "old/b"),
    link("old/b", "docs/link"),
    symlink("../old/b", "docs/symlink"),
    setMode("docs/link", 0o600),
    saveNew("docs/new", Buffer.from("made exclusively")),
    remove("docs/link"),
    exchange("docs/new", "old/b"),
    truncate("docs/big", 60 * KiB),
    setXattr("old/b", "user.note", Buffer.from("a note")),
    save("docs/tmp", noiseOf(3, 30 * KiB)),
    rename("docs/tmp", "given"),
    together(...Array.from({ length: PARALLEL }, (_, index) => save(`old/${index}`, noiseOf(index + 10, 5 * KiB)))),
    remove("docs/symlink"),
    rename("old", "docs/older"),
    remove("docs/older/3"),
  ],
  cutsAfter: () => [],
  restarts: () => false,
};

function bothTrees({ drive, served }: Outcome): { drive: string[]; served: string[] } {
  return { drive: describeTree(drive), served: describeTree(served) };
}

describe("a script of 23 steps", () => {
  let whole: Outcome;

  beforeAll(async () => {
    whole = await cutRun(script);
  }, DEADLINE_MS);

  test("makes what the model makes", () => {
    const expected = describeTree(modelOf(script.files, script.steps));
    expect(bothTrees(whole)).toEqual({ drive: expected, served: expected });
    expect(Math.max(...whole.frames)).toBeGreaterThan(30);
  });

  test(
    "[W24] [W26] [W61] cut after each frame of each step is executed once, and sends nothing again that had arrived",
    async () => {
      for (let frame = 1; frame <= Math.max(...whole.frames); frame++) {
        const cut = await cutRun({ ...script, cutsAfter: () => [frame] });
        expect({ frame, changes: cut.changes, ...bothTrees(cut) }).toEqual({
          frame,
          changes: whole.changes,
          ...bothTrees(whole),
        });
        expect(cut.cuts).toBeGreaterThan(0);
        expect(cut.uploadedBytes).toBeLessThanOrEqual(whole.uploadedBytes);
        expect(cut.downloadedBytes).toBeLessThanOrEqual(whole.downloadedBytes);
      }
    },
    DEADLINE_MS,
  );

  test(
    "[W19] [W24] cut by the server's end, which starts again, is executed once",
    async () => {
      for (let frame = 1; frame <= Math.max(...whole.frames); frame += RESTART_STRIDE) {
        const cut = await cutRun({ ...script, cutsAfter: () => [frame], restarts: () => true });
        expect({ frame, changes: cut.changes, ...bothTrees(cut) }).toEqual({
          frame,
          changes: whole.changes,
          ...bothTrees(whole),
        });
        expect(cut.cuts).toBeGreaterThan(0);
      }
    },
    DEADLINE_MS,
  );
});

describe("a large content on a line that is cut again and again", () => {
  const bytes = noiseOf(4, 3 * MiB);
  const cutsAfter = (): number[] => Array.from({ length: 10 }, (_, index) => (index + 1) * 50);
  const large: CutSettings = {
    ...script,
    files: { large: bytes },
    line: { ...script.line, bytesPerSecond: 4_000_000 },
  };

  test("[W26] is saved, each run sent until it has arrived once", async () => {
    const steps = [save("copy", noiseOf(5, bytes.length))];
    const [whole, cut] = [await cutRun({ ...large, steps }), await cutRun({ ...large, steps, cutsAfter })];
    expect(cut.cuts).toBe(cutsAfter().length);
    expect(bothTrees(cut)).toEqual(bothTrees(whole));
    expect(cut.changes).toBe(whole.changes);
    expect(cut.uploadedBytes).toBeLessThanOrEqual(whole.uploadedBytes);
  });

  test(
    "[W26] [F33] is saved by a server that starts again at each cut: only what was on its way is sent again",
    async () => {
      const steps = [save("copy", noiseOf(5, 6 * MiB))];
      const whole = await cutRun({ ...large, steps });
      const often = (): number[] => [100, 150, 200];
      const cut = await cutRun({ ...large, steps, cutsAfter: often, restarts: () => true });
      expect(cut.cuts).toBe(often().length);
      expect(bothTrees(cut)).toEqual(bothTrees(whole));
      expect(cut.changes).toBe(whole.changes);
      expect(cut.uploadedBytes).toBeLessThanOrEqual(whole.uploadedBytes + often().length * MiB);
    },
    DEADLINE_MS,
  );

  test("[W30] is read, each run sent until it has arrived once", async () => {
    const steps = [read("large", bytes)];
    const [whole, cut] = [await cutRun({ ...large, steps }), await cutRun({ ...large, steps, cutsAfter })];
    expect(cut.cuts).toBe(cutsAfter().length);
    expect(cut.downloadedBytes).toBeLessThanOrEqual(whole.downloadedBytes);
  });
});

describe("a line that is cut once", () => {
  test.each(Array.from({ length: 10 }, (_, index) => 10 + index * 2))(
    "leaves no file empty whose making and writing are told together afterwards: frame %d",
    async (frame) => {
      const files = ["a", "b", "c"].map((path, index) => ({ path, bytes: noiseOf(index, 2 * KiB) }));
      const steps = [
        together(...files.map(({ path, bytes }) => save(path, bytes))),
        ...files.map(({ path, bytes }) => read(path, bytes)),
      ];
      const cutsAfter = (step: number): number[] => (step === 0 ? [frame] : []);
      const cut = await cutRun({ ...script, line: { delayMs: 60 }, files: {}, steps, cutsAfter });
      expect(cut.cuts).toBe(1);
    },
  );

  test(
    "fails no change of a file whose old content has to be fetched for it",
    async () => {
      const steps = [truncate("given", 100 * KiB), edit("given", 50 * KiB, Buffer.from("edited"))];
      const whole = await cutRun({ ...script, steps });
      for (let frame = 1; frame <= (whole.frames[0] ?? 0); frame++) {
        const cut = await cutRun({ ...script, steps, cutsAfter: (step) => (step === 0 ? [frame] : []) });
        expect({ frame, ...bothTrees(cut) }).toEqual({ frame, ...bothTrees(whole) });
      }
    },
    DEADLINE_MS,
  );
});
