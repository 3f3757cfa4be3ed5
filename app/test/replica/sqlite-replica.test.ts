import {
  closeSync,
  copyFileSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import Database from "better-sqlite3";
import type { Change, Entry, NodeState } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { makeState } from "./model-tree.ts";

let folder: string;
let path: string;
let replica: Replica;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "runnel-replica-test-"));
  path = join(folder, "replica.sqlite");
  replica = openReplica(path, "boot 1");
  replica.reset("epoch", makeState(ROOT_NODE, "folder", 0));
});

afterEach(() => {
  replica.close();
  rmSync(folder, { recursive: true, force: true });
});

function entry(name: string, node: number, seq: number, type: NodeState["type"] = "file"): Entry {
  return { name, state: makeState(node, type, seq) };
}

function change(seq: number, bindings: [number, string, number][], nodes: NodeState[]): Change {
  return {
    seq,
    bindings: bindings.map(([inFolder, name, node]) => ({ folder: inFolder, name, node })),
    nodes,
    replaces: undefined,
  };
}

test("[F57] nothing is known of a folder until its last part has come", () => {
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "unknown" });
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], false);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "bound", state: makeState(2, "file", 3) });
  expect(replica.lookup(ROOT_NODE, "b")).toEqual({ is: "unknown" });
  expect(replica.listing(ROOT_NODE)).toBeUndefined();
  replica.putListing(ROOT_NODE, 5, [entry("Z", 3, 4)], true);
  expect(replica.lookup(ROOT_NODE, "b")).toEqual({ is: "absent", asOf: 5 });
  expect(replica.listing(ROOT_NODE)).toBeDefined();
  expect(replica.listing(ROOT_NODE)?.entries.map(({ name }) => name)).toEqual(["Z", "a"]);
  expect(replica.counts()).toEqual({ nodes: 3, names: 2, completeFolders: 1 });
});

test("files of about a size are found, those of nearly that size first, however large the folder", () => {
  const sized = (name: string, node: number, sizeBytes: number, type: NodeState["type"] = "file"): Entry => {
    return { name, state: { ...makeState(node, type, 3), sizeBytes } };
  };
  const few = [sized("a", 2, 90), sized("b", 3, 101), sized("c", 4, 120), sized("d", 5, 100, "symlink")];
  replica.putListing(ROOT_NODE, 5, [...few, sized("e", 6, 79), sized("f", 7, 121)], true);
  replica.apply([change(7, [[ROOT_NODE, "gone", 0]], [])]);
  const size = { least: 80, most: 120, like: 100 };
  expect(replica.filesOfSize(ROOT_NODE, size)).toEqual([3, 2, 4]);
  expect(replica.filesOfSize(2, size)).toEqual([]);
  const many = Array.from({ length: 3000 }, (_, index) => sized(`x${index}`, 100 + index, 100));
  replica.putListing(ROOT_NODE, 9, many, true);
  const found = replica.filesOfSize(ROOT_NODE, size);
  expect(found).toHaveLength(12);
});

test("[F58] a removal that the feed told stays told when an older listing comes", () => {
  replica.apply([change(7, [[ROOT_NODE, "a", 0]], [{ ...makeState(2, "file", 7), nlink: 0 }])]);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 7 });
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 7 });
  expect(replica.node(2)).toBeUndefined();
  replica.putListing(ROOT_NODE, 9, [entry("a", 4, 8)], true);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "bound", state: makeState(4, "file", 8) });
});

test("apply returns the bindings whose meaning changed, and only the first time", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3), entry("b", 3, 3)], true);
  const rename = change(
    6,
    [
      [ROOT_NODE, "a", 0],
      [ROOT_NODE, "b", 2],
    ],
    [makeState(2, "file", 6), { ...makeState(3, "file", 6), nlink: 0 }],
  );
  expect(replica.apply([rename])).toEqual([
    { folder: ROOT_NODE, name: "a", before: 2, after: 0 },
    { folder: ROOT_NODE, name: "b", before: 3, after: 2 },
  ]);
  expect(replica.apply([rename])).toEqual([]);
  expect(replica.facts()).toEqual({ epoch: "epoch", seq: 6, isWhole: false });
  expect(replica.namesOf(2)).toEqual([{ folder: ROOT_NODE, name: "b" }]);
  expect(replica.node(3)?.nlink).toBe(0);
});

test("[F59] a newer state wins, whatever brought it", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 5)], true);
  replica.putState(4, { ...makeState(2, "file", 4), mode: 1 });
  expect(replica.node(2)?.seq).toBe(5);
  replica.putState(9, { ...makeState(2, "file", 8), mode: 2 });
  replica.apply([change(7, [], [{ ...makeState(2, "file", 7), mode: 3 }])]);
  expect(replica.node(2)).toEqual({ ...makeState(2, "file", 8), mode: 2 });
});

test("an answer ahead of the feed counts until the feed has passed it", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  replica.putState(9, undefined, { folder: ROOT_NODE, name: "a" });
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 9 });
  replica.apply([change(8, [[ROOT_NODE, "a", 3]], [makeState(3, "file", 8)])]);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 9 });
  replica.advance(20);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 20 });
});

test("a moved folder keeps what is known inside it; a removed one does not", () => {
  replica.putListing(ROOT_NODE, 5, [entry("from", 2, 3, "folder"), entry("to", 3, 3, "folder")], true);
  replica.putListing(2, 5, [entry("inside", 4, 3, "folder")], true);
  replica.putListing(3, 5, [], true);
  replica.putListing(4, 5, [entry("deep", 5, 3)], true);
  const move = change(
    6,
    [
      [2, "inside", 0],
      [3, "moved", 4],
    ],
    [makeState(4, "folder", 6)],
  );
  replica.apply([move]);
  expect(replica.listing(4)).toBeDefined();
  expect(replica.pathOf(5)).toBe("to/moved/deep");
  replica.apply([
    change(7, [[4, "deep", 0]], [{ ...makeState(5, "file", 7), nlink: 0 }]),
    change(8, [[3, "moved", 0]], [{ ...makeState(4, "folder", 8), nlink: 0 }]),
  ]);
  expect(replica.listing(4)).toBeUndefined();
  expect(replica.pathOf(4)).toBeUndefined();
  replica.putListing(4, 9, [entry("late", 6, 3)], true);
  expect(replica.listing(4)).toBeUndefined();
});

test("states without names go when the replica is closed", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  replica.putState(6, makeState(9, "file", 6));
  replica.apply([change(6, [[ROOT_NODE, "a", 0]], [{ ...makeState(2, "file", 6), nlink: 0 }])]);
  expect(replica.counts().nodes).toBe(3);
  replica.close();
  replica = openReplica(path, "boot 1");
  expect(replica.counts().nodes).toBe(1);
});

test("an interrupted feed makes folders unknown and keeps states as the best guess", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  replica.setWhole(true);
  replica.forgetCompleteness();
  expect(replica.facts()?.isWhole).toBe(false);
  expect(replica.listing(ROOT_NODE)).toBeUndefined();
  expect(replica.lookup(ROOT_NODE, "a").is).toBe("bound");
  expect(replica.lookup(ROOT_NODE, "b").is).toBe("unknown");
  replica.putListing(ROOT_NODE, 9, [], true);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "absent", asOf: 9 });
});

test("a reset forgets all", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  replica.reset("other", makeState(ROOT_NODE, "folder", 1));
  expect(replica.facts()).toEqual({ epoch: "other", seq: 0, isWhole: false });
  expect(replica.counts()).toEqual({ nodes: 1, names: 0, completeFolders: 0 });
});

test("a batch that fails changes nothing", () => {
  const bad = { ...makeState(3, "file", 7), sizeBytes: 0.5 };
  const good = change(6, [[ROOT_NODE, "a", 2]], [makeState(2, "file", 6)]);
  expect(() => replica.apply([good, change(7, [[ROOT_NODE, "b", 3]], [bad])])).toThrow(
    expect.objectContaining({ kind: "Io" }),
  );
  expect(replica.facts()?.seq).toBe(0);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "unknown" });
});

test("answers that are kept in memory follow what drops many rows at once", () => {
  const seen = (name: string, inFolder = ROOT_NODE): string => replica.lookup(inFolder, name).is;
  replica.putListing(ROOT_NODE, 5, [entry("folder", 2, 3, "folder"), entry("a", 3, 4), entry("b", 4, 4)], true);
  replica.putListing(2, 5, [entry("a", 3, 4), entry("c", 5, 4)], true);
  expect(["folder", "a", "b"].map((name) => seen(name))).toEqual(["bound", "bound", "bound"]);
  expect(["a", "c"].map((name) => seen(name, 2))).toEqual(["bound", "bound"]);
  // The folder is gone, with its names, and what had no other.
  replica.apply([change(6, [[ROOT_NODE, "folder", 0]], [{ ...makeState(2, "folder", 6), nlink: 0 }])]);
  expect(["a", "c"].map((name) => seen(name, 2))).toEqual(["unknown", "unknown"]);
  expect(replica.node(5)).toBeUndefined();
  expect(replica.node(3)).toEqual(makeState(3, "file", 4));
  // A later listing has one name less.
  replica.putListing(ROOT_NODE, 8, [entry("a", 3, 4)], true);
  expect(seen("b")).toBe("absent");
  replica.forgetCompleteness();
  expect(seen("b")).toBe("unknown");
  expect(replica.node(3)).toBeDefined();
  replica.reset("other epoch", makeState(ROOT_NODE, "folder", 0));
  expect(seen("a")).toBe("unknown");
  expect(replica.node(3)).toBeUndefined();
});

test("a batch that fails leaves nothing of itself in what is kept in memory", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  const good = [
    change(6, [[ROOT_NODE, "a", 3]], [makeState(2, "file", 6), makeState(3, "file", 6)]),
    change(
      7,
      [
        [ROOT_NODE, "a", 4],
        [ROOT_NODE, "b", 3],
      ],
      [makeState(2, "file", 7), makeState(4, "file", 7)],
    ),
  ];
  const bad = change(8, [[ROOT_NODE, null as unknown as string, 5]], []);
  expect(() => replica.apply([...good, bad])).toThrow();
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "bound", state: makeState(2, "file", 3) });
  expect(replica.lookup(ROOT_NODE, "b")).toEqual({ is: "absent", asOf: 5 });
  expect(replica.node(3)).toBeUndefined();
  replica.apply(good);
  expect(replica.lookup(ROOT_NODE, "a")).toEqual({ is: "bound", state: makeState(4, "file", 7) });
});

test("[F48] after a kill all is there; after a power cut folders are to be listed again", () => {
  replica.putListing(ROOT_NODE, 5, [entry("a", 2, 3)], true);
  replica.advance(8);
  const killed = openReplica(path, "boot 1");
  expect(killed.listing(ROOT_NODE)?.asOf).toBe(8);
  // An end that is not clean either: the file is copied while it is open.
  for (const suffix of ["", "-wal"]) writeFileSync(`${path}2${suffix}`, readFileSync(path + suffix));
  killed.close();
  const cut = openReplica(`${path}2`, "boot 2");
  expect(cut.listing(ROOT_NODE)).toBeUndefined();
  expect(cut.facts()?.seq).toBe(0);
  expect(cut.lookup(ROOT_NODE, "a").is).toBe("bound");
  cut.close();
});

test("[F47] a newer format is refused by name and left alone; a damaged or foreign file is begun anew", () => {
  replica.close();
  const db = new Database(path);
  db.pragma("user_version = 7");
  db.close();
  expect(() => openReplica(path)).toThrow(expect.objectContaining({ kind: "Version", detail: { need: 7 } }));
  expect(() => openReplica(path)).toThrow(expect.objectContaining({ kind: "Version" }));
  writeFileSync(path, "not a database, but long enough to be looked at as one".repeat(100));
  replica = openReplica(path);
  expect(replica.facts()).toBeUndefined();
  replica.close();
  const older = new Database(path);
  older.pragma("user_version = 0");
  older.close();
  replica = openReplica(path);
  expect(replica.facts()).toBeUndefined();
});

test("[F48] a damaged index is found after a power cut, and the file begun anew", () => {
  for (let node = 2; node < 2000; node++) {
    replica.putListing(ROOT_NODE, 5, [entry(`name ${node}`, node, 3)], node === 1999);
  }
  replica.close();
  const db = new Database(path);
  db.prepare("UPDATE life SET isClosed = 0, boot = 'boot 1'").run();
  db.close();
  const bytes = readFileSync(path);
  for (let page = 4; page < bytes.length / 4096; page += 3) bytes.fill(0x5a, page * 4096 + 100, page * 4096 + 300);
  writeFileSync(path, bytes);
  replica = openReplica(path, "boot 2");
  expect(replica.facts()).toBeUndefined();
});

test("[F49] a file with any changed byte is begun anew, and that is told", () => {
  for (let node = 2; node < 500; node++)
    replica.putListing(ROOT_NODE, 5, [entry(`name ${node}`, node, 3)], node === 499);
  replica.close();
  const whole = readFileSync(path);
  const stride = process.env["RUNNEL_LONG"] === undefined ? 499 : 17;
  for (let at = 0; at < whole.length; at += stride) {
    const bytes = Buffer.from(whole);
    bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << (at % 8)), at);
    writeFileSync(path, bytes);
    replica = openReplica(path, "boot 1");
    const told: string[] = [];
    replica.onDamage((sentence) => told.push(sentence));
    expect({ at, facts: replica.facts(), told }).toEqual({
      at,
      facts: undefined,
      told: [expect.stringMatching(/^Damaged on this computer's disk: the replica\./)],
    });
    replica.close();
  }
});

test("[F49] a page that rots while the file is open fails what reads it, and that is told once", () => {
  const count = 20_000;
  const entries = Array.from({ length: count }, (_, at) => entry(`a name of usual length ${at}.txt`, 2 + at, 3));
  replica.putListing(ROOT_NODE, 5, entries, true);
  replica.close();
  replica = openReplica(path, "boot 1");
  const told: string[] = [];
  replica.onDamage((sentence) => told.push(sentence));
  const file = openSync(path, "r+");
  const size = statSync(path).size;
  // All but the header and the schema: which pages a look-up reads is SQLite's business.
  for (let page = 8; page < size / 4096; page++) writeSync(file, Buffer.of(0x5a, 0x5a), 0, 2, page * 4096 + 2000);
  closeSync(file);
  const corrupt = expect.objectContaining({ kind: "Corrupt" });
  expect(() => replica.listing(ROOT_NODE)).toThrow(corrupt);
  expect(() => replica.listing(ROOT_NODE)).toThrow(corrupt);
  expect(told).toEqual([expect.stringContaining("Unmount and mount again")]);
  replica.close();
  replica = openReplica(path, "boot 1");
  expect(replica.facts()).toBeUndefined();
});

test("an entry takes at most 300 bytes", () => {
  const count = 20_000;
  const entries = Array.from({ length: count }, (_, at) => entry(`a name of usual length ${at}.txt`, 2 ** 40 + at, 3));
  for (let at = 0; at < count; at += 1000) {
    replica.putListing(ROOT_NODE, 5, entries.slice(at, at + 1000), at + 1000 >= count);
  }
  replica.close();
  expect(statSync(path).size / count).toBeLessThan(300);
});

test("after close operations are interrupted, and closing again is harmless", () => {
  replica.close();
  const interrupted = expect.objectContaining({ kind: "Interrupted" });
  expect(() => replica.lookup(ROOT_NODE, "a")).toThrow(interrupted);
  expect(() => replica.apply([])).toThrow(interrupted);
  replica.close();
});

test("[F47] the sample of format 1 is read", () => {
  const sample = join(folder, "sample.sqlite");
  copyFileSync(join(import.meta.dirname, "samples/format-1/replica.sqlite"), sample);
  const old = openReplica(sample, "");
  expect(old.facts()).toEqual({ epoch: "epoch", seq: 9, isWhole: true });
  expect(old.listing(ROOT_NODE)).toEqual({
    asOf: 9,
    entries: [entry("folder", 2, 3, "folder"), { name: "link", state: sampleLink() }],
  });
  expect(old.lookup(2, "gone")).toEqual({ is: "absent", asOf: 8 });
  old.close();
});

function sampleLink(): NodeState {
  return { ...makeState(2 ** 52, "symlink", 2 ** 40), target: "../ä", version: 2 ** 40, uid: 2 ** 32 - 1 };
}
