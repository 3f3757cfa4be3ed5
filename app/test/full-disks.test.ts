// Says when a disk is called full.
import { expect, test } from "@jest/globals";
import { type DiskRoot, type DiskSpace, RealClock } from "@runnel/shared";
import { FullDisks } from "../src/agent/full-disks.ts";

const MIB = 1024 ** 2;

function problems(space: Partial<DiskSpace>): Promise<string[]> {
  const whole = { totalBytes: 100 * MIB, freeBytes: 10 * MIB, availableBytes: 10 * MIB, totalFiles: 9, freeFiles: 9 };
  const root = { path: "here", space: async () => ({ ...whole, ...space }) } as DiskRoot;
  return new FullDisks([{ root, holds: "unsent changes" }], new RealClock()).problems();
}

test("a disk is full without bytes, or without files where they are counted", async () => {
  const full = ["The disk of this computer with unsent changes is full: make room on the disk of here."];
  expect(await problems({})).toEqual([]);
  expect(await problems({ availableBytes: MIB - 1 })).toEqual(full);
  expect(await problems({ freeFiles: 0 })).toEqual(full);
  // Windows answers so, and btrfs.
  expect(await problems({ totalFiles: 0, freeFiles: 0 })).toEqual([]);
});
