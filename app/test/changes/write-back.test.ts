// Puts what a former process was told, and did not send, over the tree again; sends it in its order, or gives it up
// where a power cut took what it needs. Journal, tree and outbox are the product's own; the server answers as a test
// says.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type Change, ROOT_NODE, RunnelError, sleep } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import { OwnChanges } from "../../src/agent/changes/own-changes.ts";
import { PendingTree } from "../../src/agent/changes/pending-tree.ts";
import { WriteBack } from "../../src/agent/changes/write-back.ts";
import { Saves } from "../../src/agent/drive/saving/saves.ts";
import type { Save } from "../../src/agent/changes/own-change.ts";
import { hasNoContent } from "../../src/agent/changes/refusal.ts";
import type { Journal } from "../../src/agent/journal/journal.ts";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { openReplica } from "../../src/agent/replica/sqlite-replica.ts";
import { EPOCH, JournalMachine, dataOf, makeCommit } from "../journal/journal-machine.ts";
import { makeState } from "../replica/model-tree.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const FILE = 2 ** 40;
const FOLDER = 2 ** 40 + 7;
const THEIRS = 6;
const BEFORE = 7;
const LARGE_BYTES = 2 * 1024 * 1024;
const ATTRIBUTES = { type: "file", mode: 0o644, uid: 0, gid: 0, mtimeNs: 1n, rdev: 0, target: "" } as const;

const MAKE: TreeOperation = { op: "make", folder: ROOT_NODE, name: "new", node: FILE, attributes: ATTRIBUTES };
const RENAME: TreeOperation = {
  op: "rename",
  folder: ROOT_NODE,
  name: "new",
  node: FILE,
  toFolder: ROOT_NODE,
  toName: "file",
  how: "replace",
};

let machine: JournalMachine;
let journal: Journal;
let replica: Replica;
let pending: PendingTree;
let changes: OwnChanges;
let isConnected: boolean;
/** A person has paused all files. */
let isPaused: boolean;
let isHeld: boolean;
/** Folders on which write leases are held. */
let held: readonly number[];
/** Folders on which one was asked for. */
let acquired: number[];
/** The lease on what is followed is held. */
let hasLease: boolean;
let sent: { what: string; after: readonly number[] }[];
/** Folders that the server was asked to change names in. */
let folders: number[];
let bound: Map<number, number>;
/** Says of each change what it expects to take a name of. */
let expected: unknown[];
let refused: string[];
/** The server's answer to a content; undefined: none. */
let answer: RunnelError | undefined;

beforeEach(async () => {
  machine = new JournalMachine();
  [isConnected, sent, expected, refused, answer] = [true, [], [], [], undefined];
  [isPaused, isHeld, hasLease] = [false, true, true];
  [folders, bound] = [[], new Map()];
  [held, acquired] = [[ROOT_NODE], []];
  journal = await machine.open();
});

/** Starts an agent whose tree is lost, or known up to what this client changed. */
function start(isKnown: boolean): WriteBack {
  replica = openReplica(":memory:", "boot 1");
  replica.reset(EPOCH, { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 });
  if (isKnown) listRoot();
  pending = new PendingTree(replica, real);
  changes = new OwnChanges(journal);
  const unanswered = new Promise<never>(() => undefined);
  const session = {
    isResponsive: true,
    get hasLease() {
      return hasLease;
    },
    mayOnlyRead: false,
    writeLeases: {
      get held() {
        return new Set(isHeld ? held : []);
      },
      acquire: async (folder: number) => void acquired.push(folder),
    },
  };
  const writeBack = new WriteBack({
    isOn: true,
    drive: { allowEarly: () => undefined, given: async () => undefined },
    earlyLog: { path: "", boot: "", left: { requests: [], last: 0 } },
    clock: machine.clock,
    journal,
    pending,
    changes,
    pauses: { ...nothingPaused, isPaused: () => isPaused, why: () => (isPaused ? "Paused." : undefined) },
    settings: {},
    data: { space: async () => ({ freeBytes: 2 ** 40, totalBytes: 2 ** 40 }) },
    session: Object.defineProperty(session, "isConnected", { get: () => isConnected }),
    operations: {
      sendRecorded: async (_n: number, asked: TreeOperation, _timeNs: bigint, after: readonly number[]) => {
        const { op } = asked;
        sent.push({ what: op, after });
        if ("folder" in asked) folders.push(asked.folder);
        expected.push("expects" in asked ? asked.expects : undefined);
        if (answer === undefined) await unanswered;
        if (op === "make") return { node: asked.name === "theirs" ? THEIRS : FILE, seq: BEFORE + 1 };
        // Comes after the content, and fails as it did.
        await sleep(machine.clock, 10);
        throw answer;
      },
    },
    epoch: () => EPOCH,
    sendSave: async (save: Save, { turn }: { turn: { after: readonly number[]; opened(): void } }) => {
      await Promise.resolve();
      sent.push({ what: "write", after: turn.after });
      turn.opened();
      if (answer === undefined) await unanswered;
      save.failure = answer;
      changes.step(save, "fail");
    },
    real,
    list: async () => listRoot(),
    pathOf: () => "file",
    madeFolder: ({ node }: { node: number }, other: number) => void bound.set(node, other),
    ended: () => undefined,
    refused: ({ record }: { record: { path: string } }, error: Error) =>
      refused.push(`${record.path}: ${error.message}`),
    answersOffline: () => undefined,
    log: () => undefined,
  } as unknown as ConstructorParameters<typeof WriteBack>[0]);
  writeBack.restore(new Saves(changes, journal.pending(), nothingAsked).unsent());
  return writeBack;
}

function real(node: number): number {
  return bound.get(node) ?? node;
}

/** A table of contents of which nobody asks anything. */
const nothingAsked = { isQueued: () => false, isNamed: () => false };

function listRoot(): void {
  replica.putListing(ROOT_NODE, BEFORE, [{ name: "file", state: makeState(5, "file", BEFORE) }], true);
}

async function left(operation: TreeOperation): Promise<number> {
  const n = journal.nextNumber();
  const timeNs = machine.clock.wallNs();
  await journal.putOperation({ n, instance: journal.instance, epoch: EPOCH, timeNs, operation, path: "file" });
  return n;
}

/** A content of the new file, of which there was none before. */
async function leftContent(sizeBytes: number, node = FILE): Promise<number> {
  const n = journal.nextNumber();
  await machine.writeData(`overlay-${n}`, dataOf(n));
  const commit = { ...makeCommit(journal.instance, n), node, path: "new", baseVersion: 0, sizeBytes };
  await journal.put(commit, false);
  return n;
}

function shown(name: string): number | undefined {
  const known = pending.lookup(ROOT_NODE, name);
  return known.is === "bound" ? known.state.node : undefined;
}

async function again(): Promise<void> {
  await journal.close();
  journal = await machine.open();
}

test.each([true, false])("is shown at once, or once its folder is listed (the tree is known: %p)", async (isKnown) => {
  await left(MAKE);
  await left(RENAME);
  await again();
  const writeBack = start(isKnown);
  expect(sent.map(({ what }) => what)).toEqual(["make", "rename"]);
  expect([shown("file"), shown("new")]).toEqual([isKnown ? FILE : undefined, undefined]);
  await writeBack.show();
  expect([shown("file"), shown("new")]).toEqual([FILE, undefined]);
});

test("goes into the folder that was there already, also where the answer to its make came to a former process", async () => {
  const folder = { ...ATTRIBUTES, type: "folder" } as const;
  const made = await left({ op: "make", folder: ROOT_NODE, name: "theirs", node: FOLDER, attributes: folder });
  await left({ op: "make", folder: FOLDER, name: "new", node: FILE, attributes: ATTRIBUTES });
  await again();
  answer = new RunnelError("Unreachable", "send", "The line is cut.");
  start(true);
  // Sent behind its folder before that is answered, by that one's number.
  expect(folders).toEqual([ROOT_NODE, -made]);
  await machine.clock.advance(1);
  expect(journal.operations()).toEqual([]);
  expect([...journal.bound(EPOCH)]).toEqual([[FOLDER, THEIRS]]);
  await left({ op: "make", folder: FOLDER, name: "later", node: FILE + 1, attributes: ATTRIBUTES });
  await again();
  [folders, bound] = [[], new Map(journal.bound(EPOCH))];
  start(true);
  expect(folders).toEqual([THEIRS]);
});

test("is shown when the line is there, if it was not at the start", async () => {
  await left(MAKE);
  await again();
  isConnected = false;
  const writeBack = start(false);
  await writeBack.show();
  expect(pending.isEmpty).toBe(true);
  isConnected = true;
  await writeBack.show();
  expect(shown("new")).toBe(FILE);
});

test("waits for the content of its file, large or not, also while nothing is known of the tree", async () => {
  const made = await left(MAKE);
  const written = await leftContent(LARGE_BYTES);
  const renamed = await left(RENAME);
  await again();
  start(false);
  await machine.clock.advance(1);
  expect(sent).toEqual([
    { what: "make", after: [] },
    { what: "write", after: expect.any(Array) },
    { what: "rename", after: [made, written] },
  ]);
  expect(journal.operations().map(({ n }) => n)).toEqual([made, renamed]);
});

test("gives no file's name to one whose only content a power cut took: that says so, and the other one stays", async () => {
  let seen = 0;
  for (let seed = 0; seen < 3; seed++) {
    machine = new JournalMachine(seed);
    [sent, refused] = [[], []];
    journal = await machine.open();
    const made = await left(MAKE);
    await leftContent(100);
    await left(RENAME);
    await machine.cutPower();
    journal = await machine.open();
    if (journal.unverified().length === 0 || journal.operations().length < 2) continue;
    seen++;
    start(seed % 2 === 0);
    await machine.clock.advance(2_000);
    expect(sent.map(({ what }) => what)).toEqual(["make"]);
    expect(refused).toEqual(["file: The file on the server does not have what was saved in new."]);
    expect(journal.operations().map(({ n }) => n)).toEqual([made]);
    listRoot();
    expect(shown("file")).toBe(5);
  }
});

test.each([
  ["Denied", false],
  ["NoSpace", true],
] as const)(
  "gives no file's name to one whose only content the server has refused (%s: asked again: %p)",
  async (kind, isAgain) => {
    await left(MAKE);
    await leftContent(100);
    await left(RENAME);
    await again();
    answer = new RunnelError(kind, "write", "The server refuses.");
    start(true);
    await machine.clock.advance(5_000);
    // The first time it was on its way behind the content already, and failed with it.
    expect(sent.filter(({ what }) => what === "rename").length > 1).toBe(isAgain);
    expect(refused).toEqual(isAgain ? [] : ["file: The file on the server does not have what was saved in new."]);
    expect(shown("file")).toBe(isAgain ? FILE : 5);
  },
);

test.each([
  ["it", FILE, true],
  ["another file", THEIRS, false],
])("gives a file's name to one whose content has gone into %s at the server: %p", async (_, node, isGiven) => {
  isConnected = false;
  await left(MAKE);
  await leftContent(100);
  await left(RENAME);
  await again();
  answer = new RunnelError("Unreachable", "send", "The line is cut.");
  const writeBack = start(true);
  const [content] = changes.saves();
  if (content === undefined) throw new Error("There is no content.");
  content.version = { node, seq: BEFORE + 2 };
  for (const step of ["send", "answer", "settle"] as const) changes.step(content, step);
  isConnected = true;
  writeBack.linked(true);
  await machine.clock.advance(1_000);
  expect(sent.map(({ what }) => what)).toEqual(isGiven ? ["make", "rename"] : ["make"]);
  expect(refused).toEqual(isGiven ? [] : ["file: The file on the server does not have what was saved in new."]);
  expect(shown("file")).toBe(isGiven ? FILE : 5);
});

test("gives up a file's name, durably, before its content is given up: one on its way once that has failed", async () => {
  for (const isSent of [false, true]) {
    [isConnected, sent, refused, answer] = [isSent, [], [], undefined];
    machine = new JournalMachine();
    journal = await machine.open();
    const made = await left(MAKE);
    await leftContent(100);
    const renamed = await left(RENAME);
    await again();
    const writeBack = start(true);
    await machine.clock.advance(1);
    const [content] = changes.saves();
    if (content === undefined) throw new Error("There is no content.");
    expect(changes.namedWith(content).map(({ n, state }) => [n, state])).toEqual([
      [renamed, isSent ? "sent" : "recorded"],
    ]);
    await writeBack.dropNames(content, hasNoContent(content.record));
    expect(journal.operations().map(({ n }) => n)).toEqual([made]);
    expect(refused).toEqual(isSent ? [] : ["file: The file on the server does not have what was saved in new."]);
    expect(shown("file")).toBe(isSent ? FILE : 5);
  }
});

test.each([true, false])(
  "knows with which content a file got a name, under whatever id each was recorded (the tree is known: %p)",
  async (isKnown) => {
    await leftContent(100, THEIRS);
    const renamed = await left(RENAME);
    await again();
    bound.set(FILE, THEIRS);
    start(isKnown);
    const [content] = changes.saves();
    expect(changes.namedWith(content as Save).map(({ n }) => n)).toEqual([renamed]);
  },
);

/** A content that the server tells of. */
function contentOf(node: number, mtimeNs: bigint): Change {
  const state = { ...makeState(node, "file", BEFORE + 2), version: BEFORE + 2, sizeBytes: 100, mtimeNs };
  return { seq: BEFORE + 2, bindings: [], nodes: [state], replaces: undefined };
}

/** Happens between a change here and its sending; `own`: the change. */
type Between = (writeBack: WriteBack, own: Change) => void;
const lost: Between = (writeBack) => writeBack.leaseLost();
const granted: Between = (writeBack) => writeBack.granted(ROOT_NODE, false);
const continued: Between = (writeBack) => writeBack.granted(ROOT_NODE, true);
const others: Between = (writeBack) => writeBack.told([contentOf(5, 1n)]);
const ranOut: Between = () => (hasLease = false);
const renewed: Between = () => (hasLease = true);
const anew: Between = (writeBack) => writeBack.told(undefined);
const own: Between = (writeBack, change) => writeBack.told([{ ...change, seq: BEFORE + 1 }]);
const ownContent: Between = (writeBack) => {
  const saves = new Saves(changes, [], nothingAsked);
  saves.begin((n) => ({ ...makeCommit(journal.instance, n), node: 5, sizeBytes: 100, mtimeNs: 7n }), 0);
  writeBack.told([contentOf(5, 7n)]);
};

test.each([
  ["had all the time", true, [], false],
  ["lost, and not had again", true, [lost], true],
  ["had again after nothing", true, [lost, granted], false],
  ["had again after what was changed here", true, [lost, own, granted], false],
  ["had again after what was saved here", true, [lost, ownContent, granted], false],
  ["had again after what others changed", true, [lost, own, others, granted], true],
  ["had again after all was listed anew", true, [lost, anew, granted], true],
  ["had again after others and a second loss", true, [lost, others, lost, granted], true],
  ["had still", true, [lost, others, continued], false],
  ["run out before it was given back", true, [ranOut], true],
  ["run out, and had again after nothing", true, [ranOut, lost, renewed, granted], false],
  ["run out, and had again after others", true, [ranOut, others, renewed, lost, granted], true],
  ["not had since the start", false, [], true],
  ["had first after nothing", false, [granted], false],
  ["had first after what others changed", false, [others, granted], true],
] as const)(
  "says what it takes a name of where others may have changed it: the lease was %s",
  async (_, isHad, all, isSaid) => {
    const writeBack = start(true);
    if (isHad) writeBack.granted(ROOT_NODE, false);
    isConnected = false;
    const planned = writeBack.change(() => ({
      op: "remove",
      folder: ROOT_NODE,
      name: "file",
      node: 5,
      isFolder: false,
    }));
    if (planned?.change === undefined) throw new Error("Nothing was planned.");
    await planned.recorded;
    for (const happen of all) happen(writeBack, planned.change);
    isConnected = true;
    writeBack.linked(true);
    await machine.clock.advance(1);
    expect(expected).toEqual([
      isSaid ? { node: 5, version: makeState(5, "file", BEFORE).version, own: [] } : undefined,
    ]);
  },
);

test("says what it takes a name of while a content is on its way that may outlast the lease", async () => {
  await leftContent(100);
  const writeBack = start(true);
  writeBack.granted(ROOT_NODE, false);
  writeBack.linked(true);
  await machine.clock.advance(1);
  expect(sent.map(({ what }) => what)).toEqual(["write"]);
  const removal = { op: "remove", folder: ROOT_NODE, name: "file", node: 5, isFolder: false } as const;
  await writeBack.change(() => removal)?.recorded;
  await machine.clock.advance(1);
  expect(expected).toEqual([{ node: 5, version: makeState(5, "file", BEFORE).version, own: [] }]);
});

test("says of a file that it has linked that it does not expect to take its last name", async () => {
  const writeBack = start(true);
  for (const operation of [
    { op: "link", node: 5, folder: ROOT_NODE, name: "other" },
    { op: "remove", folder: ROOT_NODE, name: "file", node: 5, isFolder: false },
  ] as const)
    await writeBack.change(() => operation)?.recorded;
  writeBack.linked(true);
  await machine.clock.advance(1);
  expect(expected).toEqual([undefined, { node: 5, version: 0, own: [] }]);
});

describe("while files are paused", () => {
  const remove = (writeBack: WriteBack): ReturnType<WriteBack["change"]> =>
    writeBack.change(() => ({ op: "remove", folder: ROOT_NODE, name: "file", node: 5, isFolder: false }));
  const known = { node: 5, version: makeState(5, "file", BEFORE).version, own: [] };

  async function resume(writeBack: WriteBack): Promise<void> {
    isPaused = false;
    writeBack.outbox.pausesChanged();
    await machine.clock.advance(1);
  }

  test("changes wait, and nobody else waits for them: whoever was served meanwhile may have changed the same", async () => {
    const writeBack = start(true);
    writeBack.granted(ROOT_NODE, false);
    isPaused = true;
    await remove(writeBack)?.recorded;
    await writeBack.recalled(ROOT_NODE);
    expect([sent, writeBack.outbox.isIdle, shown("file")]).toEqual([[], true, undefined]);
    await resume(writeBack);
    expect(expected).toEqual([known]);
  });

  test("changes are as certain as ever when nobody else was served", async () => {
    const writeBack = start(true);
    writeBack.granted(ROOT_NODE, false);
    isPaused = true;
    await remove(writeBack)?.recorded;
    await resume(writeBack);
    expect([sent.length, expected]).toEqual([1, [undefined]]);
  });

  test("programs are answered without the write lease, unsure of others, and are told to wait for nobody", async () => {
    const writeBack = start(true);
    writeBack.granted(ROOT_NODE, false);
    [isPaused, isHeld] = [true, false];
    expect(await writeBack.begins([5])).toBe(true);
    await remove(writeBack)?.recorded;
    await resume(writeBack);
    expect(expected).toEqual([known]);
    expect(() => writeBack.mustGo("change", [5])).not.toThrow();
    isPaused = true;
    expect(() => writeBack.mustGo("change", [5])).toThrow("Paused.");
  });
});

describe("with write leases on folders", () => {
  const [OURS, BELOW, ELSEWHERE, OWN_FILE, OTHER_FILE, BOTHS] = [50, 51, 60, 70, 71, 72];

  beforeEach(() => {
    isConnected = false;
  });

  /** An agent that has the lease on one of two folders, and knows all that is in them. */
  function startApart(...leased: readonly number[]): WriteBack {
    const writeBack = start(true);
    const put = (folder: number, ...entries: [string, number, "file" | "folder", number?][]): void => {
      const listed = entries.map(([name, node, type, nlink = 1]) => ({
        name,
        state: { ...makeState(node, type, BEFORE), nlink },
      }));
      replica.putListing(folder, BEFORE + 1, listed, true);
    };
    put(ROOT_NODE, ["ours", OURS, "folder"], ["elsewhere", ELSEWHERE, "folder"]);
    put(OURS, ["below", BELOW, "folder"], ["both", BOTHS, "file", 2]);
    put(BELOW, ["own", OWN_FILE, "file"]);
    put(ELSEWHERE, ["other", OTHER_FILE, "file"], ["both", BOTHS, "file", 2]);
    held = leased;
    for (const folder of leased) writeBack.granted(folder, false);
    return writeBack;
  }

  const move = (folder: number, node: number, toFolder: number, [name, toName]: readonly [string, string]) =>
    ({ op: "rename", folder, name, node, toFolder, toName, how: "keep" }) as const;
  const inside = move(BELOW, OWN_FILE, OURS, ["own", "moved"]);
  const across = move(BELOW, OWN_FILE, ELSEWHERE, ["own", "moved"]);
  const elsewhere = move(ELSEWHERE, OTHER_FILE, ELSEWHERE, ["other", "renamed"]);

  test.each([
    ["a folder", [OURS], true],
    ["a folder below it", [BELOW], true],
    ["a file below it", [OWN_FILE], true],
    ["a folder beside", [ELSEWHERE], false],
    ["the root", [ROOT_NODE], false],
    ["two folders, one of them beside", [OURS, ELSEWHERE], false],
    ["a file with another name elsewhere", [BOTHS], false],
    ["what is not known", [999], false],
  ])(
    "[W180] [W193] programs are answered before the server where all that they change is below: %s",
    async (_, nodes, is) => {
      const writeBack = startApart(OURS);
      expect(writeBack.mayBegin(nodes)).toBe(is);
      expect(writeBack.isExclusive(nodes)).toBe(is);
      expect(await writeBack.begins(nodes)).toBe(is);
    },
  );

  test("[W180] one is asked for on the folder of a file that is changed, and on each folder of a move", async () => {
    const writeBack = startApart();
    await writeBack.begins([OWN_FILE]);
    await writeBack.begins([BELOW, ELSEWHERE]);
    expect(acquired).toEqual([BELOW, BELOW, ELSEWHERE]);
    held = [BELOW];
    await writeBack.begins([BELOW, ELSEWHERE]);
    expect(acquired).toEqual([BELOW, BELOW, ELSEWHERE, ELSEWHERE]);
  });

  test("[W193] a move within is answered at once, one between two folders only where both are held", async () => {
    expect(startApart(OURS).change(() => inside)?.change).toBeDefined();
    await again();
    expect(startApart(OURS).change(() => across)).toBeUndefined();
    await again();
    expect(startApart(OURS, ELSEWHERE).change(() => across)?.change).toBeDefined();
  });

  test("[W193] a name of a file that has another one elsewhere is for the server to take", () => {
    const remove = { op: "remove", folder: OURS, name: "both", node: BOTHS, isFolder: false } as const;
    expect(startApart(OURS).change(() => remove)).toBeUndefined();
    expect(startApart(OURS, ELSEWHERE).change(() => remove)?.change).toBeDefined();
  });

  test("[W181] recalled, all that touches the folder is sent, and nobody waits for the rest", async () => {
    for (const [operation, waits] of [
      [inside, true],
      [across, true],
      [elsewhere, false],
    ] as const) {
      await again();
      for (const record of journal.operations()) await journal.done(record.instance, record.n);
      const writeBack = startApart(OURS, ELSEWHERE);
      await writeBack.change(() => operation)?.recorded;
      held = [ELSEWHERE];
      let isServed = false;
      void writeBack.recalled(OURS).then(() => (isServed = true));
      await machine.clock.advance(1);
      expect([operation.name, operation.toFolder, isServed]).toEqual([operation.name, operation.toFolder, !waits]);
    }
  });

  test("[W180] while something uncertain is to be sent, nothing but the root is asked for", async () => {
    const writeBack = startApart(OURS);
    await writeBack.change(() => inside)?.recorded;
    held = [];
    writeBack.leaseLost();
    void writeBack.begins([ELSEWHERE]).catch(() => undefined);
    await machine.clock.advance(1);
    expect(acquired).toEqual([ROOT_NODE]);
    // Once that is certain, others are asked for.
    held = [OURS];
    writeBack.granted(ROOT_NODE, true);
    void writeBack.begins([ELSEWHERE]).catch(() => undefined);
    await machine.clock.advance(1);
    expect(acquired).toEqual([ROOT_NODE, ELSEWHERE]);
  });
});

describe("a change that the drive has answered", () => {
  const EARLY = { answeredNs: 7_000n, earlyNumber: 12 };
  const MOVE: TreeOperation = { ...RENAME, name: "file", node: 5, toName: "new" };

  test("is shown and sent at once, and recorded with its time and number", async () => {
    const writeBack = start(true);
    const { change, recorded } = writeBack.takeIn(MOVE, EARLY);
    expect(change?.bindings).toHaveLength(2);
    expect([shown("file"), shown("new")]).toEqual([undefined, 5]);
    expect(sent.map(({ what }) => what)).toEqual(["rename"]);
    await recorded;
    expect(journal.operations()).toMatchObject([{ timeNs: 7_000n, early: 12, operation: { op: "rename" } }]);
  });

  test("is sent all the same where the rules refuse it by now: the server says what is in the way", async () => {
    const writeBack = start(true);
    answer = new RunnelError("NotFound", "remove", "There is no such file.");
    const { change, recorded } = writeBack.takeIn(
      { op: "remove", folder: ROOT_NODE, name: "none", node: FILE, isFolder: false },
      EARLY,
    );
    await recorded;
    await machine.clock.advance(100);
    expect(change).toBeUndefined();
    expect(refused).toEqual(["file: There is no such file."]);
    expect(journal.operations()).toEqual([]);
  });

  test("is sent while the journal has no space for it, and recorded when there is", async () => {
    const writeBack = start(true);
    machine.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
    const { recorded } = writeBack.takeIn(MOVE, EARLY);
    await machine.clock.advance(1_500);
    expect(sent.map(({ what }) => what)).toEqual(["rename"]);
    expect(journal.operations()).toEqual([]);
    machine.disk.fault = () => undefined;
    await machine.clock.advance(1_500);
    await recorded;
    expect(journal.operations()).toMatchObject([{ early: 12 }]);
  });

  test("is not said to be recorded when the drive ends before: it is left in its log", async () => {
    const writeBack = start(true);
    machine.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
    const refusal = expect(writeBack.takeIn(MOVE, EARLY).recorded).rejects.toMatchObject({ kind: "NoSpace" });
    await machine.clock.advance(500);
    writeBack.ends();
    await machine.clock.advance(1_500);
    await refusal;
  });

  test("is not said to be recorded when the journal is closed before", async () => {
    const writeBack = start(true);
    machine.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
    const refusal = expect(writeBack.takeIn(MOVE, EARLY).recorded).rejects.toMatchObject({ kind: "Interrupted" });
    await machine.clock.advance(500);
    const closing = journal.close().catch(() => undefined);
    await machine.clock.advance(1_500);
    await closing;
    await refusal;
  });
});
