// Room on the disk that is set aside for commits, and what gives way for it.
import { expect, test } from "@jest/globals";
import { type DiskRoot, SimulatedClock } from "@runnel/shared";
import { Reservations } from "../../../../src/content/folder/staging/reservations.ts";

const MiB = 1024 * 1024;

/** A full disk, on which old versions lie. */
function fullDisk(): { reservations: Reservations; cut: number[] } {
  const disk = { totalBytes: 100 * MiB, freeBytes: 0, availableBytes: 0 };
  const cut: number[] = [];
  let turn: Promise<void> = Promise.resolve();
  const cutTrash = (missing: () => Promise<number>): Promise<void> => {
    turn = turn.then(async () => {
      const bytes = Math.max(0, await missing());
      cut.push(bytes);
      disk.availableBytes += bytes;
    });
    return turn;
  };
  const root = { space: async () => disk } as unknown as DiskRoot;
  return { reservations: new Reservations(root, new SimulatedClock(), cutTrash), cut };
}

test("those who want space at once have old versions give way once", async () => {
  const { reservations, cut } = fullDisk();
  await Promise.all([1, 2, 3].map(() => reservations.take(MiB)));
  // With what is left for the store's own records.
  expect(cut).toEqual([4 * MiB, 0, 0]);
});
