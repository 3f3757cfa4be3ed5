// The one sentence about a server: the worst wins, and there is always something to do about it.
import { describe, expect, test } from "@jest/globals";
import { type ServerFacts, type VolumeFacts, isLow, serverHead } from "../../src/overview/server-head.ts";

const GiB = 1024 ** 3;
const DOCS: VolumeFacts = {
  name: "docs",
  isStopped: false,
  isOpening: false,
  unavailable: undefined,
  stuck: undefined,
  pending: 0,
};
const FINE: ServerFacts = { volumes: [DOCS], disks: [disk(500, 1_000)], devicesOn: 2, transfers: 0 };
const AWAY: VolumeFacts = { ...DOCS, name: "away", unavailable: "Its folder is not there." };

function disk(freeGiB: number, totalGiB: number): ServerFacts["disks"][number] {
  return { holds: "docs", freeBytes: freeGiB * GiB, totalBytes: totalGiB * GiB };
}

describe("the sentence about a server", () => {
  test.each<[string, Partial<ServerFacts>, string, RegExp]>([
    ["all is well", {}, "fine", /All is well\. 1 volume is served, 2 devices are connected\./],
    ["nothing is served", { volumes: [] }, "fine", /No volume/],
    ["files move", { transfers: 3 }, "working", /3 files are on their way/],
    ["a volume is being opened", { volumes: [{ ...DOCS, isOpening: true }] }, "working", /docs is being opened/],
    ["a stopped volume is no fault", { volumes: [DOCS, { ...AWAY, isStopped: true }] }, "fine", /1 volume is served/],
    ["a folder is away", { volumes: [DOCS, AWAY], transfers: 3 }, "attention", /away cannot be served now: Its folder/],
    [
      "what was saved does not come into the folder",
      { volumes: [{ ...DOCS, stuck: { path: "a/b", sentence: "A file is in the way." } }] },
      "attention",
      /What was saved in docs does not come into its folder\. a\/b: A file is in the way\./,
    ],
    ["a disk is nearly full", { disks: [disk(2, 100)] }, "attention", /nearly full: 2 % are free/],
    ["a disk is full", { disks: [disk(0, 100)] }, "attention", /is full/],
    ["two things are wrong", { volumes: [AWAY], disks: [disk(0, 100)] }, "attention", /And 1 more\.$/],
  ])("%s", (_title, facts, state, sentence) => {
    const head = serverHead({ ...FINE, ...facts });
    expect(head.state).toBe(state);
    expect(head.sentence).toMatch(sentence);
    if (state === "attention") expect(head.next).not.toBeNull();
  });

  test.each([
    [100, 4, true],
    [100, 6, false],
    [10_000, 19, true],
    [10_000, 21, false],
    [0, 0, false],
  ])("a disk of %d GiB with %d GiB free is low: %s", (total, free, expected) => {
    expect(isLow(disk(free, total))).toBe(expected);
  });
});
