// Conflicts as an agent knows them: of a server that tells when there are others, over a line that comes and goes.
import { beforeEach, expect, test } from "@jest/globals";
import { RunnelError, type StatusEntry } from "@runnel/shared";
import { type Conflict, Conflicts } from "../../src/agent/mounted-volume/conflicts.ts";

const STATUS = { seq: 9, pending: 0, excluded: 0 };

let listed: StatusEntry[];
let isConnected: boolean;
let asked: number;
let settled: number[];
let added: Conflict[];
let problems: string[];
let conflicts: Conflicts;

beforeEach(() => {
  [listed, isConnected, asked, settled, added, problems] = [[], true, 0, [], [], []];
  const session = {
    mustRespond: () => {
      asked++;
      if (!isConnected) throw new RunnelError("Unreachable", "status", "There is no line.");
    },
    open: () => {
      const items = [listed];
      return { next: async () => items.shift(), result: async () => STATUS, cancel: () => undefined };
    },
    aside: <T>(answer: Promise<T>): Promise<T> => answer,
    withRequestTimeout: <T>(answer: Promise<T>): Promise<T> => answer,
    call: async (_name: string, { seq }: { seq: number }) => {
      settled.push(seq);
      listed = listed.filter((entry) => entry.kind !== "clientConflict" || entry.seq !== seq);
    },
  };
  conflicts = new Conflicts({
    session: session as unknown as ConstructorParameters<typeof Conflicts>[0]["session"],
    added: (conflict) => void added.push(conflict),
    log: (message) => void problems.push(message),
  });
  conflicts.attached(5);
});

function rowOf(seq: number, path: string, conflictCopy?: string): StatusEntry {
  const copy = conflictCopy === undefined ? {} : { conflictCopy };
  return { kind: "clientConflict", path, seq, by: "desk", atMs: 1, ...copy };
}

async function told(...entries: StatusEntry[]): Promise<void> {
  listed = entries;
  conflicts.changed();
  await rest();
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}

test("are listed once the server says that there are some; those that came since the drive did are told of, once", async () => {
  expect(conflicts.list()).toEqual([]);
  await told(rowOf(4, "old"), rowOf(6, "new", "new 2"));
  expect(conflicts.list()).toEqual([
    { path: "old", seq: 4, conflictCopy: null, by: "desk", atMs: 1 },
    { path: "new", seq: 6, conflictCopy: "new 2", by: "desk", atMs: 1 },
  ]);
  await told(rowOf(4, "old"), rowOf(6, "new", "new 2"), rowOf(7, "newer"));
  expect(added.map(({ path }) => path)).toEqual(["new", "newer"]);
});

test("what is told while the server is being asked is asked for once more, however often", async () => {
  conflicts.changed();
  listed = [rowOf(6, "new")];
  for (let count = 0; count < 5; count++) conflicts.changed();
  await rest();
  expect([asked, conflicts.list().length]).toEqual([2, 1]);
});

test("what was known last stays while there is no line, and is asked for anew when there is one, if there was any", async () => {
  conflicts.connected();
  await rest();
  expect(asked).toBe(0);
  await told(rowOf(6, "new"));
  isConnected = false;
  conflicts.changed();
  await rest();
  expect([conflicts.list().length, problems.length]).toEqual([1, 1]);
  // Somebody has settled it meanwhile.
  [isConnected, listed] = [true, []];
  conflicts.connected();
  await rest();
  expect(conflicts.list()).toEqual([]);
});

test("a person settles all of a path, by either name; others stay", async () => {
  await told(rowOf(6, "a"), rowOf(7, "a"), rowOf(8, "b", "b 2"));
  expect(await conflicts.settle("a")).toBe(2);
  expect([settled, conflicts.list().map(({ path }) => path)]).toEqual([[6, 7], ["b"]]);
  expect(await conflicts.settle("b 2")).toBe(1);
  expect(await conflicts.settle("b")).toBe(0);
});
