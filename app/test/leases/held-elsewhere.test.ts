// Folders that others have write leases on, as a client goes by them: what is below is asked for, and nothing else.
import { beforeEach, expect, test } from "@jest/globals";
import { ROOT_NODE } from "@runnel/shared";
import { HeldElsewhere } from "../../src/agent/leases/held-elsewhere.ts";

const [THEIRS, BELOW, OURS, THEIR_FILE, BOTHS_FILE, OUR_FILE] = [10, 11, 20, 100, 101, 102];
const PLACES: Record<number, readonly number[]> = {
  [THEIRS]: [ROOT_NODE],
  [BELOW]: [THEIRS],
  [OURS]: [ROOT_NODE],
  [THEIR_FILE]: [BELOW],
  [BOTHS_FILE]: [OURS, BELOW],
  [OUR_FILE]: [OURS],
};

let sent: unknown[];
let asked: (readonly number[])[];
let changes: boolean[];
let elsewhere: HeldElsewhere;

beforeEach(() => {
  [sent, asked, changes] = [[], [], []];
  elsewhere = new HeldElsewhere({
    namesOf: (node) => (PLACES[node] ?? []).map((folder) => ({ folder })),
    ask: async (nodes) => void asked.push(nodes),
    changed: () => void changes.push(elsewhere.isEmpty),
  });
});

function told(...folders: readonly number[]): void {
  elsewhere.told({ send: (item) => void sent.push(item) }, 3, folders);
}

test("[W192] are heard of at once, and said to be; the drive hears when there are some, and none any more", () => {
  told(THEIRS);
  told(THEIRS, OURS);
  expect([sent, changes]).toEqual([
    [
      ["heard", 3],
      ["heard", 3],
    ],
    [false],
  ]);
  told();
  expect(changes).toEqual([false, true]);
});

test.each([
  ["the folder itself", [THEIRS], [THEIRS]],
  ["what is below", [BELOW, THEIR_FILE], [BELOW, THEIR_FILE]],
  ["a file by another name", [BOTHS_FILE], [BOTHS_FILE]],
  ["what is not known", [999], [999]],
  ["what is elsewhere", [ROOT_NODE, OURS, OUR_FILE], []],
])("[W192] of %s is asked what is below, and of the rest nothing", async (_what, nodes, are) => {
  await elsewhere.current(nodes);
  expect(asked).toEqual([]);
  told(THEIRS);
  await elsewhere.current(nodes);
  expect(asked).toEqual(are.length === 0 ? [] : [are]);
});

test("[W192] with all that is below a folder, those below it are asked for", () => {
  told(BELOW, OURS);
  expect(elsewhere.touched([THEIRS], true)).toEqual([BELOW]);
  expect(elsewhere.touched([ROOT_NODE], true)).toEqual([BELOW, OURS]);
  expect(elsewhere.touched([ROOT_NODE])).toEqual([]);
});

test("[W192] of the attachment before stay until this one has said which there are, or how the lease stands", () => {
  told(THEIRS);
  elsewhere.leaseAnswered();
  expect(elsewhere.isEmpty).toBe(false);
  elsewhere.attached();
  expect(elsewhere.isEmpty).toBe(false);
  elsewhere.leaseAnswered();
  expect(elsewhere.isEmpty).toBe(true);
  elsewhere.attached();
  told(THEIRS);
  elsewhere.leaseAnswered();
  expect(elsewhere.isEmpty).toBe(false);
});
