// Contents that programs save to files which a program here has removed meanwhile: they are told that it is saved, as
// on any disk, and nothing is kept or sent that nobody can see. And what waits until a content is in the cache.
import { describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import type { Save } from "../../../src/agent/changes/own-change.ts";
import { NODE, SaveRig, VERSION } from "./save-rig.ts";

/** A program here takes the last name of the file. */
async function remove(rig: SaveRig): Promise<void> {
  nameTimes(rig, 0);
  await rig.unsent.removed(NODE);
}

function nameTimes(rig: SaveRig, nlink: number): void {
  const state = rig.states.get(NODE);
  if (state !== undefined) rig.states.set(NODE, { ...state, nlink });
}

/** A file whose content waits to be sent, in mode async. */
async function unsent(): Promise<{ rig: SaveRig; shownAs: number }> {
  const rig = await new SaveRig().open();
  rig.isAsync = true;
  expect(await rig.close(1)).toBe("saved");
  const [{ shownAs }] = rig.queued as [Save];
  await rig.commits.closed(1);
  return { rig, shownAs };
}

describe("a save of a file that was removed here", () => {
  test.each([true, false])(
    "is answered at once, and is nobody's: its layers go with the open file (async: %p)",
    async (isAsync) => {
      const rig = await new SaveRig().open();
      rig.isAsync = isAsync;
      await remove(rig);
      for (const offset of [0, 100]) await rig.fsync(1, offset, Buffer.alloc(100), offset + 100);
      expect([rig.committed, rig.version, rig.asked, rig.queued]).toEqual([[1, 2], 0, [], []]);
      expect([rig.journal.pending(), await rig.machine.dataFiles()]).toEqual([[], ["layer-1", "layer-2"]]);
      await rig.commits.closed(1);
      expect(await rig.machine.dataFiles()).toEqual([]);
    },
  );

  test("is so over a content that was not sent, and went with the name", async () => {
    const { rig, shownAs } = await unsent();
    await remove(rig);
    expect(await rig.close(2, { baseVersion: shownAs, baseBytes: 100 })).toBe("saved");
    expect([rig.version, rig.unsent.isEmpty, rig.journal.pending(), rig.asked]).toEqual([0, true, [], []]);
  });

  test("is so when it waits for what becomes of that content, which is refused", async () => {
    const rig = await new SaveRig().open();
    const answer = Promise.withResolvers<void>();
    rig.writes = [rig.refuse("NoSpace"), () => answer.promise];
    expect(await rig.close(1)).toBe("NoSpace");
    const [{ shownAs }] = rig.saves.unsent() as [Save];
    await rig.commits.closed(1);
    const replaying = rig.unsent.replay();
    while (rig.asked.length < 2) await rig.machine.clock.advance(1);
    const saving = rig.close(2, { baseVersion: shownAs, baseBytes: 100 });
    await rig.machine.clock.advance(1);
    await remove(rig);
    answer.reject(new RunnelError("Gone", "write", "It is gone."));
    await replaying;
    expect([await saving, rig.asked.length]).toEqual(["saved", 2]);
    expect([rig.unsent.isEmpty, rig.journal.pending()]).toEqual([true, []]);
  });

  test("is so whatever it fails with", async () => {
    const rig = await new SaveRig().open();
    const answer = Promise.withResolvers<void>();
    rig.writes = [() => answer.promise];
    const saving = rig.close(1);
    while (rig.asked.length < 1) await rig.machine.clock.advance(1);
    await remove(rig);
    answer.reject(new RunnelError("Stale", "write", "It was changed."));
    expect([await saving, rig.unsent.isEmpty, rig.journal.pending()]).toEqual(["saved", true, []]);
  });

  test("fails once the file has its name again, over a content that is given up, and is kept over its version", async () => {
    const { rig, shownAs } = await unsent();
    await remove(rig);
    nameTimes(rig, 1);
    expect(await rig.close(2, { baseVersion: shownAs, baseBytes: 100 })).toBe("Gone");
    expect(await rig.close(3)).toBe("saved");
    expect(rig.unsent.list()).toMatchObject([{ node: NODE, baseVersion: VERSION }]);
  });

  test("is kept all the same where it is an edit of a conflict copy, which has a name", async () => {
    const { rig, shownAs } = await unsent();
    const [save] = rig.queued as [Save];
    nameTimes(rig, 0);
    rig.writes = [rig.refuse("Unreachable")];
    await rig.sendInTurn(save, false);
    await remove(rig);
    expect(await rig.close(2, { baseVersion: shownAs, baseBytes: 100 })).toBe("saved");
    const [record] = rig.unsent.list();
    expect(record).toMatchObject({ copy: { of: rig.path }, layers: [{}, {}] });
  });
});

test("who opens a file waits for what was saved and sent in its turn until that is in the cache", async () => {
  const { rig } = await unsent();
  const { promise, resolve } = Promise.withResolvers<void>();
  rig.keeping = promise;
  const [save] = rig.queued as [Save];
  const sent = rig.sendInTurn(save);
  while (save.state !== "committed") await rig.machine.clock.advance(1);
  let isOpen = false;
  const opened = rig.commits.settled(NODE).then(() => (isOpen = true));
  await rig.machine.clock.advance(100);
  expect(isOpen).toBe(false);
  resolve();
  await opened;
  await sent;
  expect(save.state).toBe("settled");
});

describe("a content for which the drive has answered", () => {
  const OTHERS = 9;
  const EARLY = { answeredNs: 7_000n, earlyNumber: 12 };

  async function asyncRig(): Promise<SaveRig> {
    const rig = await new SaveRig().open();
    rig.isAsync = true;
    return rig;
  }

  test("has its number at once, and is recorded with that of the drive's log, shown and queued", async () => {
    const rig = await asyncRig();
    const before = rig.journal.nextNumber();
    const taken = rig.commits.takeIn({ ...(await rig.closing(1)), ...EARLY });
    expect(rig.journal.nextNumber()).toBe(before + 2);
    await taken;
    expect(rig.journal.pending()).toMatchObject([{ n: before + 1, node: NODE, baseVersion: VERSION, early: 12 }]);
    expect(rig.queued.map(({ n, shownAs }) => [n, shownAs])).toEqual([[before + 1, rig.version]]);
    expect(rig.committed).toEqual([1]);
  });

  test("is said to be saved, and sent, when the journal has space for it", async () => {
    const rig = await asyncRig();
    const space = Promise.withResolvers<void>();
    rig.recordAtLast = (record) => space.promise.then(record);
    const taken = rig.commits.takeIn({ ...(await rig.closing(1)), ...EARLY });
    const [save] = rig.queued as [Save];
    const sending = rig.sendInTurn(save);
    await rig.machine.clock.advance(1_000);
    expect([rig.committed, rig.asked]).toEqual([[], []]);
    space.resolve();
    await Promise.all([taken, sending]);
    expect([rig.committed, rig.asked.length]).toEqual([[1], 1]);
  });

  test("is nobody's where a program has removed the file meanwhile", async () => {
    const rig = await asyncRig();
    await remove(rig);
    await rig.commits.takeIn({ ...(await rig.closing(1)), ...EARLY });
    expect([rig.committed, rig.version, rig.journal.pending(), rig.queued]).toEqual([[1], 0, [], []]);
  });

  test("of a former process is recorded, and nobody answered", async () => {
    const rig = await asyncRig();
    await rig.commits.takeIn({ ...(await rig.closing(0)), ...EARLY });
    expect(rig.committed).toEqual([]);
    expect(rig.queued).toHaveLength(1);
    expect(rig.journal.pending()).toMatchObject([{ early: 12 }]);
  });

  /** Records a first one, which is shown as unsent. */
  async function afterFirst(): Promise<{ rig: SaveRig; first: Save }> {
    const rig = await asyncRig();
    await rig.commits.takeIn({ ...(await rig.closing(1)), ...EARLY });
    return { rig, first: rig.queued[0] as Save };
  }

  test("takes the place of the unsent one that it is over, whose record may be on its way still", async () => {
    for (const isRecorded of [true, false]) {
      const rig = await asyncRig();
      const first = rig.commits.takeIn({ ...(await rig.closing(1)), ...EARLY });
      if (isRecorded) await first;
      const [former] = rig.queued as [Save];
      const over = await rig.closing(2, { baseVersion: former.shownAs });
      await Promise.all([first, rig.commits.takeIn({ ...over, answeredNs: 8_000n, earlyNumber: 13 })]);
      const layers = [
        { file: "overlay-1-0", extents: [] },
        { file: "overlay-2-0", extents: [{ offset: 0, length: 100 }] },
      ];
      expect(rig.journal.pending()).toMatchObject([{ early: 13, baseVersion: VERSION, layers }]);
      expect(former.state).toBe("settled");
      await rig.sendInTurn(rig.queued.at(-1) as Save);
      expect(rig.asked).toMatchObject([{ is: "write", base: VERSION }]);
      expect(rig.journal.pending()).toEqual([]);
    }
  });

  test("is sent after the one on its way that it is over, as an edit of what that became", async () => {
    const { rig, first } = await afterFirst();
    const { promise, resolve } = Promise.withResolvers<void>();
    rig.writes = [() => promise, async () => undefined];
    const sending = rig.sendInTurn(first);
    await rig.machine.clock.advance(1);
    await rig.commits.takeIn({ ...(await rig.closing(2, { baseVersion: first.shownAs })), ...EARLY });
    expect(rig.journal.pending()).toMatchObject([{ n: first.n }, { follows: first.n }]);
    resolve();
    await sending;
    await rig.sendInTurn(rig.queued.at(-1) as Save);
    expect(rig.asked).toMatchObject([{ base: VERSION }, { base: VERSION + 1 }]);
  });

  test("is over what is there where that which it is over has been given up", async () => {
    const { rig, first } = await afterFirst();
    await rig.commits.closed(1);
    await rig.unsent.discard(first.record);
    await rig.commits.takeIn({ ...(await rig.closing(2, { baseVersion: first.shownAs })), ...EARLY });
    expect(rig.journal.pending()).toMatchObject([{ baseVersion: VERSION }]);
  });

  test.each([true, false])(
    "of a former process is over the content that this had shown, whatever became of that (it was sent: %p)",
    async (isSent) => {
      const { rig, first } = await afterFirst();
      if (isSent) await rig.sendInTurn(first);
      await rig.again();
      for (const save of rig.saves.unsent()) rig.saves.show(save);
      // Numbers of what is shown begin anew in each process: another file has that one, whose programs removed it.
      const others = rig.saves.begin((n) => ({ ...first.record, n, node: OTHERS }), 0);
      rig.changes.step(others, "record");
      rig.saves.show(others);
      rig.saves.removed(OTHERS);
      await rig.commits.takeIn({ ...(await rig.closing(0, { baseVersion: others.shownAs })), ...EARLY });
      const base = isSent ? VERSION + 1 : VERSION;
      expect(rig.journal.pending()).toMatchObject([{ early: 12, baseVersion: base, layers: isSent ? [{}] : [{}, {}] }]);
      await rig.sendInTurn(rig.queued.at(-1) as Save);
      expect(rig.asked.at(-1)).toMatchObject({ base });
    },
  );
});
