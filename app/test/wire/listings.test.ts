// Questions about the tree while the line is away for a moment.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
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
