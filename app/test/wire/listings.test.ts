// Questions about the tree while the line is away for a moment.
import { expect, test } from "@jest/globals";
import { ROOT_NODE, RunnelError } from "@runnel/shared";
import type { Replica } from "../../src/agent/replica/replica.ts";
import { Listings } from "../../src/agent/wire/listings.ts";
import type { Session } from "../../src/agent/wire/session.ts";

/** A session whose line has just broken; `comesBack`: it is there again before the silence is over. */
function brokenSession(comesBack: boolean): { session: Session; calls: string[] } {
  const calls: string[] = [];
  const gone = new RunnelError("Unreachable", "connection", "The line broke.");
  const session = {
    lineIsThere: async () => {
      calls.push("waits");
      if (!comesBack) throw gone;
    },
    mustRespond: () => calls.push("responds"),
    open: () => {
      calls.push("asks");
      return { next: async () => undefined, cancel: () => undefined };
    },
    ask: async () => {
      calls.push("asks");
      return { asOf: 1, nodes: [], names: [] };
    },
    whileAlive: async (answer: Promise<unknown>) => answer,
  };
  return { session: session as unknown as Session, calls };
}

function listingsOf(session: Session): Listings {
  return new Listings({ session, replica: {} as Replica, progress: () => undefined });
}

test.each<[string, (listings: Listings) => Promise<unknown>, string[]]>([
  ["a folder's listing", (listings) => listings.list(2), ["responds", "asks"]],
  ["a node's state", (listings) => listings.stat([2]), ["asks"]],
])("%s that the replica does not know waits for a line that has just broken", async (_what, ask, then) => {
  const back = brokenSession(true);
  await ask(listingsOf(back.session));
  expect(back.calls).toEqual(["waits", ...then]);
  const away = brokenSession(false);
  await expect(ask(listingsOf(away.session))).rejects.toMatchObject({ kind: "Unreachable" });
  expect(away.calls).toEqual(["waits"]);
});

/** Resolves when nothing is to be done before something else is told. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
}

/** A server whose listings a test tells item by item; undefined ends the one that was asked for last. */
class TellingServer {
  readonly told: string[] = [];
  asked = 0;
  private tell: (items: unknown) => void = () => undefined;
  readonly listings: Listings;

  constructor() {
    const session = {
      lineIsThere: async () => undefined,
      mustRespond: () => undefined,
      whileAlive: async (answer: Promise<unknown>) => answer,
      open: () => {
        this.asked++;
        return { next: () => new Promise((resolve) => (this.tell = resolve)), cancel: () => undefined };
      },
    };
    const replica = {
      putListing: (folder: number, asOf: number) => void this.told.push(`${folder} as of ${asOf}`),
      setWhole: () => void this.told.push("whole"),
    };
    const deps = { session: session as unknown as Session, replica: replica as unknown as Replica };
    this.listings = new Listings({ ...deps, progress: () => undefined });
  }

  async say(folder?: number, asOf = 0): Promise<void> {
    await settled();
    this.tell(folder === undefined ? undefined : [[folder, asOf, true, []]]);
    await settled();
  }
}

test.each(["of all", "of a folder"])(
  "a listing %s that is void before its end begins anew, and keeps nothing",
  async (what) => {
    const server = new TellingServer();
    const { listings } = server;
    const folder = what === "of all" ? ROOT_NODE : 7;
    const listing = what === "of all" ? listings.listAll(undefined, () => undefined) : listings.list(folder);
    await server.say(folder, 1);
    listings.listAgain();
    await server.say(8, 1);
    expect(server.asked).toBe(2);
    await server.say(folder, 2);
    listings.listAgain();
    await server.say();
    expect(server.asked).toBe(3);
    for (const each of [folder, 8]) await server.say(each, 3);
    await server.say();
    await listing;
    const all = [`${folder} as of 1`, `${folder} as of 2`, `${folder} as of 3`, "8 as of 3"];
    expect(server.told).toEqual(what === "of all" ? [...all, "whole"] : all);
  },
);
