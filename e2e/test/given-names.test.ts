// Holds the checker of the simulation to what it says of names: it notices a name that went to another file than its
// program was told of, and finds nothing wrong with one of what was there by then. Runs are judged in
// consistency.test.ts.
import { expect, test } from "@jest/globals";
import { check } from "../src/consistency/index.ts";
import type { Call } from "../src/consistency/check/history.ts";
import { type Committed, Truth } from "../src/consistency/check/truth.ts";

const CLIENT = "client0";
const [ROOT, THEIRS, COPY] = [1, 2, 3];
const [BEFORE, SAVED, NEWER] = ["5:before", "7:saved", "8:newer"];

type Change = Pick<Committed, "step" | "op"> & Partial<Committed>;

/** Commits in that order, the first as number 1. */
function truthOf(changes: readonly Change[]): Truth {
  const truth = new Truth(() => CLIENT);
  for (const [index, change] of changes.entries()) {
    const none = { n: 0, isStep: false, name: "", isBeside: false, bindings: [], nodes: [] };
    truth.take({ ...none, instance: "i", client: CLIENT, atMs: change.step, seq: index + 1, ...change });
  }
  return truth;
}

function made(name: string, node: number, step: number): Change {
  return {
    step,
    op: "make",
    name,
    bindings: [{ folder: ROOT, name, node }],
    nodes: [{ node, isFile: true, version: 0 }],
  };
}

function written(node: number, version: number, key: string, step: number): Change {
  const content = { node, version, key, over: { node, version: 0 } };
  return { step, op: "write", nodes: [{ node, isFile: true, version }], content };
}

function renamed(node: number, version: number, step: number): Change {
  const bindings = [
    { folder: ROOT, name: "a", node: 0 },
    { folder: ROOT, name: "b", node },
  ];
  return { step, op: "rename", name: "b", bindings, nodes: [{ node, isFile: true, version }] };
}

function call(kind: Call["kind"], began: number, ended: number, more: Partial<Call>): Call {
  const times = { began, ended, beganMs: began, endedMs: ended, firstSeq: 0, lastSeq: 9 };
  return { client: CLIENT, kind, path: "a", outcome: "ok", wasOffline: false, ...times, ...more };
}

/**
 * A program has saved over what another has, and then renamed the file: what it saved is in the conflict copy from step
 * 25 on, and the rename committed at step 45, of the other's. Returns what is wrong with that.
 */
function wrongWith(renameBegan: number, renameEnded: number, saved: number = COPY): string[] {
  const truth = truthOf([
    made("a", THEIRS, 1),
    written(THEIRS, 2, BEFORE, 2),
    made("a (unsent)", COPY, 24),
    written(saved, 4, SAVED, 25),
    renamed(THEIRS, saved === THEIRS ? 4 : 2, 45),
  ]);
  const calls = [call("write", 10, 11, { content: SAVED }), call("rename", renameBegan, renameEnded, { toPath: "b" })];
  return check(calls, truth, { closeMs: 1, termMs: 1, isAsync: true }).violations;
}

test("a name that its program was told of before its content became a conflict copy is not another file's", () => {
  expect(wrongWith(12, 13)).toEqual([
    expect.stringMatching(/^theirs: client0 rename a to b \[12\.\.13\] was commit 5,/),
  ]);
  expect(wrongWith(12, 24)).toHaveLength(1);
  expect(wrongWith(12, 13, THEIRS)).toEqual([]);
});

test("a name may be another file's whose program was answered when its content lay beside that", () => {
  expect(wrongWith(30, 31)).toEqual([]);
  expect(wrongWith(20, 50)).toEqual([]);
});

test("a name is not another file's that had not been there as the content was committed", () => {
  const truth = truthOf([
    made("a", COPY, 1),
    written(COPY, 2, SAVED, 12),
    made("a", THEIRS, 20),
    written(THEIRS, 4, BEFORE, 21),
    renamed(THEIRS, 4, 45),
  ]);
  const calls = [call("write", 10, 11, { content: SAVED }), call("rename", 30, 31, { toPath: "b" })];
  const { violations } = check(calls, truth, { closeMs: 1, termMs: 1, isAsync: true });
  expect(violations).toEqual([expect.stringMatching(/^theirs: /)]);
});

test.each([
  ["may have what its program saved by another name of it since", 14, []],
  ["is not another file's, which has what its program saves only later", 24, [expect.stringMatching(/^theirs: /)]],
])("a name of a file %s", (_title, writes, wrong) => {
  const truth = truthOf([
    made("a", THEIRS, 1),
    written(THEIRS, 2, BEFORE, 2),
    { ...made("c", THEIRS, 3), op: "link", nodes: [{ node: THEIRS, isFile: true, version: 2 }] },
    written(THEIRS, 4, NEWER, 40),
    renamed(THEIRS, 4, 45),
  ]);
  const calls = [
    call("write", 10, 11, { content: SAVED }),
    call("write", writes, writes + 1, { path: "c", content: NEWER }),
    call("rename", 20, 21, { toPath: "b" }),
  ];
  const { violations } = check(calls, truth, { closeMs: 1, termMs: 1, isAsync: true });
  expect(violations.filter((each) => !each.startsWith("lost: "))).toEqual(wrong);
});

test.each([
  ["while it had that open", 10, 15, []],
  ["before it opened that", 13, 15, [expect.stringMatching(/^theirs: /)]],
])("a name may be a file's that another client put there for a program, but not %s", (_title, began, ended, wrong) => {
  const truth = truthOf([
    made("a", COPY, 1),
    written(COPY, 2, BEFORE, 2),
    { ...renamed(THEIRS, 0, 12), bindings: [{ folder: ROOT, name: "a", node: THEIRS }] },
    written(THEIRS, 4, NEWER, 13),
    renamed(THEIRS, 4, 45),
  ]);
  const calls = [
    call("rename", 11, 12, { client: "client1", path: "c", toPath: "a" }),
    call("write", began, ended, { content: SAVED }),
    call("rename", 20, 21, { toPath: "b" }),
  ];
  const { violations } = check(calls, truth, { closeMs: 1, termMs: 1, isAsync: true });
  expect(violations.filter((each) => each.startsWith("theirs: "))).toEqual(wrong);
});

test("a rename to a name is not that of another program to the same name in another folder, where that is empty", () => {
  const [FOLDER, EMPTY_ONE] = [4, 5];
  const inFolder = [
    { folder: FOLDER, name: "a", node: 0 },
    { folder: FOLDER, name: "b", node: EMPTY_ONE },
  ];
  const folder = made("e", FOLDER, 1);
  const truth = truthOf([
    { ...folder, nodes: [{ node: FOLDER, isFile: false, version: 0 }] },
    { ...made("a", EMPTY_ONE, 2), bindings: [{ folder: FOLDER, name: "a", node: EMPTY_ONE }] },
    made("a", THEIRS, 3),
    written(THEIRS, 4, SAVED, 4),
    { ...renamed(EMPTY_ONE, 0, 21), bindings: inFolder },
    renamed(THEIRS, 4, 22),
  ]);
  const calls = [
    call("write", 3, 5, { content: SAVED }),
    call("rename", 20, 30, { path: "e/a", toPath: "e/b" }),
    call("rename", 20, 30, { toPath: "b" }),
  ];
  expect(check(calls, truth, { closeMs: 1, termMs: 1 }).violations).toEqual([]);
});

test.each([
  ["is replaced by a rename of what has the other name since", "c", []],
  ["is lost where the file itself was renamed", "b", [expect.stringMatching(/^lost: client0 write b /)]],
])("a content that was never committed, of a file with two names, %s", (_title, from, wrong) => {
  const calls = [
    call("link", 1, 2, { path: "a", toPath: "b" }),
    call("rename", 3, 4, { path: "c", toPath: "a" }),
    call("write", 5, 6, { path: "b", content: SAVED }),
    call("rename", 7, 8, from === "c" ? { path: "a", toPath: "b" } : { path: "b", toPath: "d" }),
  ];
  const { violations } = check(calls, truthOf([]), { closeMs: 1, termMs: 1, isAsync: true });
  expect(violations.filter((each) => each.includes("write b"))).toEqual(wrong);
});

test.each([
  ["is replaced by a rename, whatever another client renames afterwards", 3, 5, []],
  ["is lost where another client renamed its file before", 5, 3, [expect.stringMatching(/^lost: client0 write b /)]],
])("a content that was never committed %s", (_title, own, others, wrong) => {
  const calls = [
    call("write", 1, 2, { path: "b", content: SAVED }),
    call("rename", own, own + 1, { path: "a", toPath: "b" }),
    call("rename", others, others + 1, { client: "client1", path: "b", toPath: "a" }),
  ];
  const { violations } = check(calls, truthOf([]), { closeMs: 1, termMs: 1, isAsync: true });
  expect(violations.filter((each) => each.includes("write b"))).toEqual(wrong);
});
