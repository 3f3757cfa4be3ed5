// A program's change in the served folder × what the volume is doing there at that moment: in the end the tree shows
// the folder, and neither the program's bytes nor a client's committed ones are missing from it [F29].
import { afterEach, describe, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { TestVolume } from "../test-volume.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
/** Disk operations that applying a commit has done when the program acts. */
const MOMENTS = LONG ? Array.from({ length: 24 }, (_, index) => index) : [0, 3, 6, 9];
const PROGRAMS = "by the program";
const COMMITTED = "committed by a client";

let volume: TestVolume;

afterEach(async () => {
  volume.disk.fault = undefined;
  await volume.store.close();
});

interface Doing {
  what: string;
  act(): Promise<unknown>;
  /** It leaves no bytes of its own. */
  writes?: boolean;
}

async function append(path: string, text: string): Promise<void> {
  const file = await volume.other.open(path, "write");
  try {
    await file.write((await file.stat()).sizeBytes, Buffer.from(text));
  } finally {
    await file.close();
  }
}

async function copyOver(): Promise<void> {
  for (const name of ["a", "b"]) {
    await volume.writeFile(`docs/${name}`, PROGRAMS);
    await volume.other.setStat(`docs/${name}`, { mtimeNs: 1_000_000_000_000_000_000n });
  }
}

async function burst(): Promise<void> {
  for (let index = 0; index < 300; index++) await volume.writeFile(`docs/burst ${index}`, PROGRAMS);
  await volume.other.rename("docs/burst 7", "moved", "keep");
  await volume.other.removeFile("docs/burst 8");
  volume.disk.overflowWatches();
}

const DOINGS: Doing[] = [
  { what: "writes in place", writes: true, act: () => volume.writeFile("docs/a", PROGRAMS) },
  { what: "appends", writes: true, act: () => append("docs/a", PROGRAMS) },
  {
    what: "saves by rename",
    writes: true,
    act: async () => {
      await volume.writeFile("docs/.tmp", PROGRAMS);
      await volume.other.rename("docs/.tmp", "docs/a", "replace");
    },
  },
  {
    what: "deletes and makes anew with the same inode",
    writes: true,
    act: async () => {
      await volume.other.removeFile("docs/a");
      await volume.writeFile("docs/a", PROGRAMS);
    },
  },
  { what: "deletes", act: () => volume.other.removeFile("docs/a") },
  { what: "renames", act: () => volume.other.rename("docs/a", "docs/c", "keep") },
  { what: "renames over another", act: () => volume.other.rename("docs/b", "docs/a", "replace") },
  { what: "exchanges", act: () => volume.other.rename("docs/a", "docs/b", "exchange") },
  { what: "renames the folder", act: () => volume.other.rename("docs", "elsewhere", "keep") },
  { what: "copies over all of it, with old times", writes: true, act: copyOver },
  {
    what: "sets the time to the past",
    act: () => volume.other.setStat("docs/a", { mtimeNs: 1_000_000_000_000_000_000n }),
  },
  { what: "sets the mode", act: () => volume.other.setStat("docs/a", { mode: 0o600 }) },
  { what: "links", act: () => volume.other.link("docs/a", "linked") },
  { what: "makes more changes than the system reports", writes: true, act: burst },
];

type State = (docs: number, a: number) => Promise<() => Promise<void>>;

async function nothing(): Promise<void> {}

/** The disk takes a millisecond for each operation, and so many of them have been done. */
async function after(moment: number, commit: Promise<unknown>): Promise<() => Promise<void>> {
  await commit;
  volume.disk.delayMs = () => 1;
  await volume.clock.advance(moment);
  return nothing;
}

/** Work that goes on when the program comes; resolves to what ends it. */
const STATES: Record<string, State> = {
  idle: async () => nothing,
  ...Object.fromEntries(
    MOMENTS.flatMap((moment): [string, State][] => [
      [
        `a commit under way to the same file (${moment})`,
        async (_docs, a) => after(moment, volume.write(a, COMMITTED)),
      ],
      [
        `a commit under way in the same folder (${moment})`,
        async (docs) => after(moment, volume.file(docs, "new", COMMITTED)),
      ],
    ]),
  ),
  "commits that are not yet brought up": async (docs, a) => {
    volume.disk.fault = (_operation, path) =>
      path.startsWith(".runnel-store/temp/") && path.endsWith(".new") ? "Io" : undefined;
    await volume.write(a, COMMITTED);
    await volume.file(docs, "new", COMMITTED);
    await volume.clock.advance(3_000);
    return async () => {
      await volume.clock.advance(3_000);
      const scanned = volume.store.scan();
      await volume.clock.advance(20_000);
      await scanned;
      // No scan takes them for removed or made by somebody.
      const names = (await volume.meta.namesOf(a)).length;
      expect(names).toBeGreaterThan(0);
      volume.disk.fault = undefined;
    };
  },
};

async function trashed(): Promise<string> {
  const names: string[] = [];
  await volume.other.list(".runnel-store/trash", (entries) => {
    for (const { name } of entries) if (name !== undefined) names.push(name);
  });
  const texts = await Promise.all(names.map((name) => volume.readFile(`.runnel-store/trash/${name}`)));
  return texts.join("\n");
}

describe.each(Object.entries(STATES))("[F29] %s, and a program that", (state, begin) => {
  test.each(DOINGS)("$what", async ({ act, writes }) => {
    volume = new TestVolume(3);
    await volume.start();
    const docs = await volume.make(ROOT_NODE, "docs", { type: "folder", mode: 0o755 });
    const a = await volume.file(docs, "a", "a first");
    await volume.file(docs, "b", "b first");
    await volume.settle();
    let isPlaced = false;
    volume.disk.fault = (operation, path) => {
      isPlaced ||= operation === "rename" && path.endsWith(".new");
      return undefined;
    };
    const end = await begin(docs, a);
    let isDone = false;
    const acting = act().finally(() => {
      isDone = true;
    });
    await volume.clock.runUntil(() => isDone);
    await acting;
    // Otherwise the program's change may have come later than the commit, and taken its place.
    const isCommitKept = !isPlaced;
    volume.disk.delayMs = () => 0;
    await end();
    await volume.settle(10_000);
    const files = await volume.files();
    expect(await volume.tree()).toEqual(files);
    expect(volume.store.status()).toMatchObject({ pendingCommits: 0, stuck: undefined, isScanning: false });
    const texts = [...files.values()].join("\n");
    // Bytes that it wrote to a file that a commit had just replaced went to the trash with it [F27].
    if (writes === true) expect(texts + (await trashed())).toContain(PROGRAMS);
    if (isCommitKept && state !== "idle") expect(texts).toContain(COMMITTED);
  });
});
