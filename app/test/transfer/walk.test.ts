// Files that a walk wants, from what is opened.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import type { FileType, NodeState } from "@runnel/shared";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { Walk } from "../../src/agent/transfer/walk.ts";
import { Walks } from "../../src/agent/transfer/walks.ts";

const FILE_BYTES = 1000;
const AHEAD_BYTES_MAX = 1024 * 1024;

class GrowingTree {
  readonly replica = openReplica(":memory:");
  private seq = 1;
  private nextNode = 2;

  constructor() {
    this.replica.reset("epoch", stateOf(1, "folder", 0));
    this.replica.putListing(1, this.seq, [], true);
  }

  add(folder: number, name: string, type: FileType = "file", sizeBytes = FILE_BYTES): NodeState {
    const state = { ...stateOf(this.nextNode++, type, sizeBytes), seq: ++this.seq };
    const bindings = [{ folder, name, node: state.node }];
    this.replica.apply([{ seq: this.seq, bindings, nodes: [state], replaces: undefined }]);
    if (type === "folder") this.replica.putListing(state.node, this.seq, [], true);
    return state;
  }

  files(folder: number, count: number, sizeBytes = FILE_BYTES): NodeState[] {
    return Array.from({ length: count }, (_, index) =>
      this.add(folder, `file ${String(index).padStart(5, "0")}`, "file", sizeBytes),
    );
  }

  folder(folder: number, name: string): number {
    return this.add(folder, name, "folder").node;
  }
}

function stateOf(node: number, type: FileType, sizeBytes: number): NodeState {
  const times = { mtimeNs: 5n, ctimeNs: 5n };
  return {
    node,
    type,
    sizeBytes,
    ...times,
    mode: 0o644,
    uid: 0,
    gid: 0,
    nlink: 1,
    rdev: 0,
    target: "",
    version: 1,
    seq: 1,
  };
}

let tree: GrowingTree;
let here: Set<number>;
let walk: Walk;

beforeEach(() => {
  tree = new GrowingTree();
  here = new Set();
  walk = new Walk(tree.replica, ({ node }) => here.has(node), AHEAD_BYTES_MAX);
});

afterEach(() => tree.replica.close());

/** Opens a file, which is here from then on, as is what is wanted. How many that were. */
function open(state: NodeState | undefined): number {
  if (state === undefined) throw new Error("no such file");
  const wanted = walk.opened(state);
  here.add(state.node);
  for (const { node } of wanted) here.add(node);
  return wanted.length;
}

/** Opens all in order; how many of them nothing had brought, and how often something was wanted. */
function walkThrough(files: readonly NodeState[]): { missed: number; requests: number; wanted: number } {
  const sum = { missed: 0, requests: 0, wanted: 0 };
  for (const state of files) {
    if (!here.has(state.node)) sum.missed++;
    const wanted = open(state);
    if (wanted > 0) sum.requests++;
    sum.wanted += wanted;
  }
  return sum;
}

describe("a walk", () => {
  test("begins with the second file opened in a folder, and wants what follows", () => {
    const files = tree.files(1, 10);
    expect(walk.opened(files[2] as NodeState)).toEqual([]);
    here.add(files[2]?.node ?? 0);
    const wanted = walk.opened(files[3] as NodeState);
    // Files that were passed come last: a program with an order of its own will be there too.
    expect(wanted).toEqual([...files.slice(4), ...files.slice(0, 2)]);
  });

  test("through one folder asks seldom, and has all but the first two", () => {
    const files = tree.files(1, 1000, 100);
    const { missed, requests } = walkThrough(files);
    expect(missed).toBe(2);
    expect(requests).toBeLessThanOrEqual(3);
  });

  test("through many folders, at any depth, goes on from one to the next", () => {
    const files: NodeState[] = [];
    for (const outer of ["a", "b", "c"]) {
      const folder = tree.folder(1, outer);
      files.push(...tree.files(folder, 30, 100));
      // Named so that they come after the files.
      for (const inner of ["x", "y", "z"]) files.push(...tree.files(tree.folder(folder, inner), 50, 100));
    }
    const { missed, requests, wanted } = walkThrough(files);
    expect(missed).toBeLessThanOrEqual(4);
    expect(requests).toBeLessThanOrEqual(6);
    expect(wanted).toBeLessThanOrEqual(files.length);
  });

  test("by node ids is followed in that order", () => {
    const names = Array.from({ length: 300 }, (_, index) => `file ${(index * 7919) % 300}`);
    const files = names.map((name) => tree.add(1, name, "file", 100));
    expect(walkThrough(files).missed).toBeLessThanOrEqual(6);
  });

  test("through folders of one file each begins with the third", () => {
    const files = Array.from({ length: 100 }, (_, index) =>
      tree.add(tree.folder(1, `folder ${String(index).padStart(3, "0")}`), "only", "file", 100),
    );
    expect(walkThrough(files).missed).toBe(3);
  });

  test("ends where folders lie in one another, as what is known of them in parts may say", () => {
    const outer = tree.folder(1, "outer");
    const inner = tree.folder(outer, "z inner");
    const files = [outer, inner].flatMap((folder) => tree.files(folder, 20, 100));
    const bindings = [
      { folder: 1, name: "outer", node: 0 },
      { folder: inner, name: "z outer", node: outer },
    ];
    const moved = { ...stateOf(outer, "folder", 0), seq: 1_000 };
    tree.replica.apply([{ seq: 1_000, bindings, nodes: [moved], replaces: undefined }]);
    expect(tree.replica.namesOf(outer)).toEqual([{ folder: inner, name: "z outer" }]);
    for (const _ of [1, 2, 3]) walkThrough(files);
    expect(walk.opened(files.at(-1) as NodeState)).toEqual([]);
  });

  test("wants at first little, then four times what was opened: what is not walked through costs little", () => {
    const files = tree.files(1, 5000, 10);
    open(files[0]);
    expect(open(files[1])).toBe(64);
    let wanted = 0;
    for (const state of files.slice(2, 35)) wanted += open(state);
    expect(wanted).toBe(256);
    for (const state of files.slice(35, 70)) expect(open(state)).toBe(0);
  });

  test("wants no more than there is room for, nor than one request may name", () => {
    const files = tree.files(1, 200, 100_000);
    open(files[0]);
    expect(open(files[1])).toBe(Math.floor(AHEAD_BYTES_MAX / 100_000));
    const many = tree.files(tree.folder(1, "many"), 4 * LIMITS.findGetVersions, 1);
    walk.stopped();
    let most = 0;
    for (const state of many) most = Math.max(most, open(state));
    expect(most).toBe(LIMITS.findGetVersions);
  });

  test("leaves out large files, empty ones, and what is here", () => {
    const files = tree.files(1, 6);
    tree.add(1, "file 00007", "file", LIMITS.smallFileBytes + 1);
    tree.add(1, "file 00008", "file", 0);
    tree.add(1, "file 00009", "symlink");
    here.add(files[4]?.node ?? 0);
    open(files[0]);
    expect(walk.opened(files[1] as NodeState)).toEqual([files[2], files[3], files[5]]);
  });

  test("is none when files are opened here and there", () => {
    const folders = ["a", "b", "c", "d"].map((name) => tree.files(tree.folder(1, name), 20));
    for (const [folder, file] of [
      [3, 5],
      [0, 2],
      [2, 9],
      [1, 3],
    ] as const)
      expect(open(folders[folder]?.[file])).toBe(0);
    expect(walk.isWalking).toBe(false);
  });

  test("that has stopped begins anew", () => {
    const files = tree.files(1, 300, 10);
    open(files[0]);
    open(files[1]);
    expect(walk.isWalking).toBe(true);
    walk.stopped();
    expect(walk.isWalking).toBe(false);
    expect(open(files[200])).toBe(0);
    expect(open(files[201])).toBeGreaterThan(0);
  });

  test("that passes over what was wanted wants less", () => {
    const files = tree.files(1, 5000, 10);
    open(files[0]);
    open(files[1]);
    // Far behind what was brought.
    expect(open(files[1000])).toBe(64);
    expect(open(files[3000])).toBe(64);
  });
});

describe("several walks", () => {
  let walks: Walks;

  beforeEach(() => {
    walks = new Walks(tree.replica, ({ node }) => here.has(node), AHEAD_BYTES_MAX);
  });

  /** A file is opened, which is here from then on, as is what is wanted; whether nothing had brought it. */
  function opens(state: NodeState): boolean {
    const isMissed = !here.has(state.node);
    for (const { node } of walks.opened(state)) here.add(node);
    here.add(state.node);
    return isMissed;
  }

  /** Folders within folders, with files in each, the files of a folder before those below. */
  function treeOf(name: string): NodeState[] {
    const top = tree.folder(1, name);
    const files = tree.files(top, 30, 100);
    for (const inner of ["x", "y", "z"]) files.push(...tree.files(tree.folder(top, inner), 40, 100));
    return files;
  }

  test("of a program that compares two trees, file by file, are followed in both", () => {
    const [one, other] = [treeOf("a"), treeOf("b")];
    let missed = 0;
    for (const [index, state] of one.entries())
      for (const opened of [state, other[index] as NodeState]) if (opens(opened)) missed++;
    expect(missed).toBeLessThanOrEqual(6);
  });

  test("of three programs that do not keep step are followed, each in its tree", () => {
    const trees = ["a", "b", "c"].map(treeOf);
    const places = [0, 0, 0];
    let missed = 0;
    for (let turn = 0; places.some((place) => place < 150); turn++) {
      const which = [0, 1, 0, 2, 2, 1, 0][turn % 7] ?? 0;
      const state = trees[which]?.[places[which] ?? 0];
      if (state !== undefined && opens(state)) missed++;
      places[which] = (places[which] ?? 0) + 1;
    }
    expect(missed).toBeLessThanOrEqual(10);
  });

  test("are a few at most: files opened here and there want nothing, and push out no walk", () => {
    const walked = treeOf("walked");
    const strange = Array.from({ length: 40 }, (_, index) =>
      tree.files(tree.folder(1, `folder ${99 - index}`), 1),
    ).flat();
    let missed = 0;
    for (const [index, state] of walked.entries()) {
      if (opens(state)) missed++;
      const other = index > 5 ? strange.shift() : undefined;
      if (other !== undefined) expect(walks.opened(other)).toEqual([]);
    }
    expect(missed).toBeLessThanOrEqual(4);
    walks.stopped();
    expect(walks.isWalking).toBe(false);
  });
});
