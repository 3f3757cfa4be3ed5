// The write leases as a client has them: asked for once, held for as long as the lease is, given back when all is sent.
import { beforeEach, expect, test } from "@jest/globals";
import { type Channel, ROOT_NODE, RunnelError, SimulatedClock } from "@runnel/shared";
import { WriteLeases } from "../../src/agent/leases/write-leases.ts";

let clock: SimulatedClock;
let sent: unknown[];
let granted: unknown[];
let draining: PromiseWithResolvers<void>;
let isOffered: boolean;
let hasLease: boolean;
let feed: Channel | undefined;
let isSilent: boolean;
let leases: WriteLeases;

beforeEach(setUp);

function setUp(): void {
  clock = new SimulatedClock();
  [sent, granted, isOffered, hasLease, isSilent] = [[], [], true, true, false];
  draining = Promise.withResolvers();
  feed = { send: (item: unknown) => void sent.push(item) } as unknown as Channel;
  leases = new WriteLeases({
    clock,
    feed: () => feed,
    hasLease: () => hasLease,
    isOffered: () => isOffered,
    keepalive: {
      soon: async (answer) => {
        if (isSilent) throw new RunnelError("Unreachable", "acquire", "Nobody answers.");
        return answer;
      },
    },
    events: { granted: (...what) => void granted.push(what), recalled: () => draining.promise },
  });
}

const FOLDER = 5;
const OTHER = 6;

function acquire(folder = FOLDER): Promise<void> {
  return leases.acquire(folder, () => leases.held.has(ROOT_NODE) || leases.held.has(folder));
}

function held(): number[] {
  return [...leases.held];
}

async function acquired(folder = ROOT_NODE): Promise<void> {
  const answer = acquire();
  leases.granted(1, false, folder);
  await answer;
  sent.length = 0;
}

test("[W180] programs that change something at once ask for one once, and have what the server says", async () => {
  const both = [acquire(), acquire()];
  expect(sent).toEqual([["acquire", 1, FOLDER]]);
  leases.granted(1, true, ROOT_NODE);
  await Promise.all(both);
  expect(held()).toEqual([ROOT_NODE]);
  expect(granted).toEqual([[ROOT_NODE, true]]);
  await acquire();
  expect(sent).toHaveLength(1);
});

test("[W180] of two folders one is asked for after the other, unless the first answer will do", async () => {
  for (const folder of [FOLDER, ROOT_NODE]) {
    const both = [acquire(FOLDER), acquire(OTHER)];
    expect(sent).toEqual([["acquire", 1, FOLDER]]);
    leases.granted(1, false, folder);
    await clock.advance(0);
    if (folder === ROOT_NODE) expect(sent).toHaveLength(1);
    else {
      expect(sent.at(-1)).toEqual(["acquire", 2, OTHER]);
      leases.granted(2, false, OTHER);
    }
    await Promise.all(both);
    expect(held()).toEqual(folder === ROOT_NODE ? [ROOT_NODE] : [FOLDER, OTHER]);
    setUp();
  }
});

test.each<[string, () => void]>([
  ["a server that knows nothing of it", () => (isOffered = false)],
  ["the lease", () => (hasLease = false)],
  ["a line", () => (feed = undefined)],
])("none is asked for: %s", async (_what, lack) => {
  lack();
  await acquire();
  expect([sent, held()]).toEqual([[], []]);
});

test("[W180] refused, one on the same folder is asked for again no sooner than the server says", async () => {
  const answer = acquire();
  leases.refused(1, 5_000);
  await answer;
  await clock.advance(4_999);
  await acquire();
  expect(sent).toHaveLength(1);
  void acquire(OTHER);
  expect(sent.at(-1)).toEqual(["acquire", 2, OTHER]);
  leases.refused(2, 5_000);
  await clock.advance(1);
  void acquire();
  expect(sent.at(-1)).toEqual(["acquire", 3, FOLDER]);
});

test("an answer to an older question, or to none, grants nothing", async () => {
  leases.granted(1, false, FOLDER);
  expect(held()).toEqual([]);
  const answer = acquire();
  leases.granted(2, false, FOLDER);
  leases.refused(7, 1_000_000);
  expect(held()).toEqual([]);
  leases.granted(1, false, FOLDER);
  await answer;
  expect(held()).toEqual([FOLDER]);
});

test("they end with the lease, and with the line, and are not held again by the next one", async () => {
  await acquired();
  hasLease = false;
  expect(held()).toEqual([]);
  leases.lost();
  hasLease = true;
  expect(held()).toEqual([]);
  const again = acquire();
  leases.lost();
  await again;
  // The answer to what was asked before: the server asks it back when somebody else wants it.
  leases.granted(2, true, FOLDER);
  expect(held()).toEqual([]);
});

test("[W181] recalled, one is held no more at once, and given back when all has been sent; others stay", async () => {
  await acquired(FOLDER);
  const other = acquire(OTHER);
  leases.granted(2, false, OTHER);
  await other;
  sent.length = 0;
  leases.recall(FOLDER);
  expect(held()).toEqual([OTHER]);
  await acquire();
  expect(sent).toEqual([]);
  draining.resolve();
  await clock.advance(0);
  expect(sent).toEqual([["yield", FOLDER]]);
  await clock.advance(1_000);
  void acquire();
  expect(sent.at(-1)).toEqual(["acquire", 3, FOLDER]);
});

test("what could not be sent keeps it, and on another line nothing is given back", async () => {
  await acquired();
  leases.recall(ROOT_NODE);
  draining.reject(new Error("The disk is full."));
  await clock.advance(0);
  expect(sent).toEqual([]);
  draining = Promise.withResolvers();
  leases.recall(ROOT_NODE);
  feed = { send: (item: unknown) => void sent.push(item) } as unknown as Channel;
  draining.resolve();
  await clock.advance(0);
  expect(sent).toEqual([]);
});

test("a server that does not answer soon is not waited for", async () => {
  isSilent = true;
  await acquire();
  await acquire(OTHER);
  expect(held()).toEqual([]);
});
