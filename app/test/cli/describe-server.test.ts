// Status of a server's folder, as a person reads it.
import { describe, expect, test } from "@jest/globals";
import { describeServer, describeStuck } from "../../src/cli/describe-server.ts";

type ServerStatus = Parameters<typeof describeServer>[0];

const AT_MS = Date.UTC(2026, 10, 22);
const FINE: ServerStatus = {
  seq: 7,
  pending: 0,
  stuck: null,
  scan: null,
  conflicts: [],
  incomplete: [],
  lost: [],
  destroyed: [],
  missing: [],
  salvaged: [],
  excluded: { count: 0, paths: [] },
};

test("a server that has nothing to tell says nothing", () => {
  expect(describeServer(FINE)).toEqual([]);
});

test.each<[string, Partial<ServerStatus>, string[]]>([
  [
    "a save of which bytes were destroyed",
    {
      incomplete: [
        { path: "a/b", conflictCopy: "a/b (c)", missing: [{ offset: 10, length: 5 }], missingBytes: 5, atMs: AT_MS },
      ],
    },
    [
      "A save of a/b lacks 5 bytes that a program on the server overwrote meanwhile (from 10 to 15). What there is of it is a/b (c).",
    ],
  ],
  [
    "a scan after lost events",
    { scan: { why: "missed", done: 1200, total: 5000, stuck: null } },
    [
      "The server may have missed changes of programs there and is looking through its folder: 24 % so far. Until then files may show as they were.",
    ],
  ],
  [
    "the first scan, of a folder never seen before",
    { scan: { why: "start", done: 1, total: 0, stuck: null } },
    [
      "The server has started and is looking through its folder: 1 name so far. Until then files may show as they were.",
    ],
  ],
  [
    "a scan that is nearly done",
    { scan: { why: "start", done: 5000, total: 5000, stuck: null } },
    ["The server has started and is looking through its folder: 99 % so far. Until then files may show as they were."],
  ],
  [
    "more changes than it takes in at once",
    { scan: { why: "behind", done: 0, total: 9000, stuck: null } },
    ["Programs on the server changed much at once: 9000 names to look at. Until then files may show as they were."],
  ],
  [
    "a scan that fails",
    {
      scan: { why: "start", done: 7, total: 0, stuck: { path: "photos", kind: "Io", sentence: "The disk failed." } },
    },
    [
      "The server has started and is looking through its folder: 7 names so far. It stops at photos: The disk failed. It is tried again. Until then files may show as they were.",
    ],
  ],
  ["changes on the way", { pending: 1 }, ["1 change is saved, and on the way into the server's plain files."]],
  [
    "a full disk",
    { pending: 2, stuck: { path: "docs/a", kind: "NoSpace", sentence: "ENOSPC" } },
    [
      "2 changes are saved, but not in the server's plain files yet. It stops at docs/a: the disk of the folder is full. Make room there.",
    ],
  ],
  [
    "a quota that is used up",
    { pending: 2, stuck: { path: "docs/a", kind: "Quota", sentence: "EDQUOT" } },
    [
      "2 changes are saved, but not in the server's plain files yet. It stops at docs/a: the server's quota on the disk of the folder is used up. Make room there.",
    ],
  ],
  [
    "another obstacle",
    { pending: 2, stuck: { path: "", kind: "Io", sentence: "The disk failed." } },
    [
      "2 changes are saved, but not in the server's plain files yet. The first of them cannot be put in place: The disk failed. It is tried again. What does not depend on it goes on.",
    ],
  ],
  [
    "a folder that it may not write to",
    { pending: 1, stuck: { path: "docs/a", kind: "Denied", sentence: "EACCES" } },
    [
      "1 change is saved, but not in the server's plain files yet. The first of them cannot be put in place at docs/a: the server may not write there. Grant it the right. What does not depend on it goes on.",
    ],
  ],
  [
    "a rebuilt index",
    { salvaged: [{ changes: 12, atMs: AT_MS }], missing: [{ path: "docs/big", seq: 17, atMs: AT_MS }] },
    [
      "The server lost its index (2026-11-22); 12 changes that were saved were brought back into its folder.",
      "docs/big (change 17) was saved and could not be brought back when the server lost its index. Save it again from a copy.",
    ],
  ],
  [
    "a conflict",
    { conflicts: [{ path: "a", conflictCopy: "a (conflict)", atMs: AT_MS }] },
    [
      "a was changed on the server and from a drive at once. Both are kept; the server's is a (conflict). Remove or rename that one to settle it.",
    ],
  ],
  [
    "a log that grows",
    {
      lost: [
        { path: "", versions: 1, atMs: AT_MS },
        { path: "app.log", versions: 30, atMs: AT_MS },
      ],
    },
    [
      "Programs on the server wrote to app.log in place: 31 older versions are not kept. What the files hold now is whole.",
    ],
  ],
  [
    "a save that a program destroyed on its way",
    { destroyed: [{ path: "docs/a", seq: 17, atMs: AT_MS }] },
    [
      "docs/a (change 17) was saved, and before it was in its plain file a program on the server destroyed bytes of it: that save cannot be read. Save it again from a copy.",
    ],
  ],
  [
    "names that no drive can show",
    { excluded: { count: 8, paths: ["a", "b", "c", "d", "e", "f"] } },
    ["8 names on the server are left out, since drives cannot show such names: a, b, c, d, e and 3 more."],
  ],
])("%s", (_what, more, lines) => {
  expect(describeServer({ ...FINE, ...more })).toEqual(lines);
});

test("what keeps saved changes from the folder is said apart from what is on its way", () => {
  const stuck = { path: "docs/a", kind: "ReadOnly", sentence: "EROFS" } as const;
  expect(describeStuck({ ...FINE, pending: 1 })).toEqual([]);
  const server = { ...FINE, pending: 1, stuck };
  expect(describeStuck(server)).toEqual(describeServer(server));
  expect(describeStuck(server)).toHaveLength(1);
});

describe("of many conflicts", () => {
  test("the newest are shown, the others counted", () => {
    const conflicts = Array.from({ length: 7 }, (_, index) => ({ path: `${index}`, conflictCopy: "x", atMs: AT_MS }));
    const lines = describeServer({ ...FINE, conflicts });
    expect(lines.map((line) => line.slice(0, 6))).toEqual(["6 was ", "5 was ", "4 was ", "3 was ", "2 was ", "And 2 "]);
    expect(lines.at(-1)).toBe("And 2 more: runnel status --json lists them.");
  });
});
