// find on a volume that is not mounted: an attachment for the time of the search.
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { threadExecutor } from "@runnel/native";
import type { Predicate } from "@runnel/shared";
import { LocalSecrets, RealClock, WsDialer } from "@runnel/shared";
import { volumeOf } from "./control/index.ts";
import type { FoundEntry } from "./mount-status.ts";
import { knownHere } from "./servers/log-in-here.ts";
import { VERSION } from "./version.ts";
import { findBelow } from "./wire/listings.ts";
import { Session } from "./wire/session.ts";

export async function* findByUrl(url: string, predicate: Predicate, secretPath?: string): AsyncGenerator<FoundEntry> {
  const instance = randomBytes(16).toString("hex");
  const servers = knownHere();
  const session = new Session({
    url,
    volume: volumeOf(new URL(url)),
    clock: new RealClock(),
    dialer: new WsDialer((place) => servers.trustOf(place), LocalSecrets.ofUserOr(secretPath)),
    token: () => servers.tokenFor(url),
    executor: threadExecutor(),
    instance: () => instance,
    software: `Runnel ${VERSION} on ${hostname()}`,
    wasUsed: () => false,
    resume: () => undefined,
    listsAll: false,
    events: {},
  });
  await session.start();
  try {
    yield* findBelow(session, predicate);
  } finally {
    await session.close();
  }
}
