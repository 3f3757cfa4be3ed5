// Unsent contents as programs see them, where showing one fails.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { UnsentContents } from "../../../src/agent/drive/saving/unsent-contents.ts";
import type { Save } from "../../../src/agent/changes/own-change.ts";
import { EPOCH } from "../../journal/journal-machine.ts";
import { NODE, SaveRig } from "./save-rig.ts";

test.each([
  ["NoSpace", "is shown at the next try"],
  ["Unreachable", "is shown at the next try"],
  ["Gone", "is shown no more"],
] as const)("an unsent content that cannot be shown because of %s %s", async (kind, what) => {
  const rig = await new SaveRig().open();
  rig.writes = [rig.refuse("Unreachable")];
  await rig.close(1);
  const [save] = rig.saves.unsent();
  const failures = [new RunnelError(kind, "show", "It cannot be shown.")];
  const opened: unknown[] = [];
  const drive = {
    putContent: () => {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
    },
    putNode: () => undefined,
    dropContent: () => true,
    opened: (_id: number, given: unknown) => void opened.push(given),
  };
  const state = rig.states.get(NODE);
  const tree = { node: async () => state, known: () => state, entry: () => state };
  const contents = new UnsentContents({
    drive,
    tree,
    saves: rig.saves,
    journal: rig.journal,
    dataFolder: "/data",
    session: { isResponsive: true },
    epoch: () => EPOCH,
    log: () => undefined,
  } as unknown as ConstructorParameters<typeof UnsentContents>[0]);
  const open = (): Promise<boolean> =>
    contents.open({ op: "open", id: 7, node: NODE, wantsWrite: false, truncates: false } as never);
  if (what === "is shown no more") {
    expect([await open(), await open(), opened]).toEqual([false, false, []]);
    return;
  }
  await expect(open()).rejects.toMatchObject({ kind });
  const version = save?.shownAs;
  expect([await open(), opened]).toEqual([true, [{ content: version, version }]]);
});

/** A drive that holds contents, some of which programs have open. */
class Offers {
  readonly drive = new Set<number>();
  readonly open = new Set<number>();
  readonly shown = new Set<number>();
  readonly discarded: string[] = [];
  isRead: (file: string) => boolean = () => false;
  readonly subject: UnsentContents;

  constructor() {
    const deps = {
      drive: {
        putContent: ({ id }: { id: number }) => void this.drive.add(id),
        dropContent: (id: number) => !this.open.has(id) && (this.drive.delete(id) || true),
      },
      tree: { known: () => undefined },
      saves: { unsent: () => [], isShown: (version: number) => this.shown.has(version) },
      journal: {
        onRemoving: (isRead: (file: string) => boolean) => (this.isRead = isRead),
        discard: async ([file = ""]) => void this.discarded.push(file),
      },
      dataFolder: "/data",
    };
    this.subject = new UnsentContents(deps as unknown as ConstructorParameters<typeof UnsentContents>[0]);
  }

  save(version: number, layers = 1): void {
    const all = [{ offset: 0, length: 10 }];
    const files = Array.from({ length: layers }, (_, layer) => ({ file: `${version}-${layer}`, extents: all }));
    this.shown.add(version);
    const record = { node: NODE, sizeBytes: 10, layers: files };
    this.subject.shown({ shownAs: version, record } as unknown as Save);
  }
}

test("the drive has a content that is one file from the moment on that it is shown, and others when they are opened", () => {
  const place = new Offers();
  place.save(1);
  place.save(2, 2);
  expect([...place.drive]).toEqual([1]);
  place.shown.clear();
  place.subject.changed(NODE);
  expect([...place.drive]).toEqual([]);
});

test("one that nothing needs any more stays while a program reads it, and others open it no more", async () => {
  const place = new Offers();
  place.save(1);
  place.save(2);
  place.open.add(2);
  expect(["1-0", "2-0", "3-0"].map((file) => place.isRead(file))).toEqual([false, true, false]);
  expect([...place.drive]).toEqual([2]);
  place.shown.clear();
  place.subject.changed(NODE);
  expect([...place.drive]).toEqual([2]);
  place.open.clear();
  place.subject.closed();
  expect([...place.drive]).toEqual([]);
  await Promise.resolve();
  expect(place.discarded).toEqual(["2-0"]);
});

test("of many the drive has the last ones, and those that are open", () => {
  const place = new Offers();
  place.save(1);
  place.open.add(1);
  for (let version = 2; version <= 5000; version++) place.save(version);
  expect(place.drive.size).toBe(4096);
  expect(place.drive.has(1)).toBe(true);
  expect(place.drive.has(2)).toBe(false);
  expect(place.drive.has(5000)).toBe(true);
});
