// The server behind its listener: how many connections it takes whose device is not known yet.
import { afterEach, describe, expect, test } from "@jest/globals";
import {
  Connection,
  LIMITS,
  RunnelError,
  SeededRandom,
  SimulatedClock,
  type SimulatedLink,
  SimulatedNetwork,
  TIMING,
} from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import type { Security } from "../src/auth/security.ts";
import type { RunningServer } from "../src/index.ts";
import { serve } from "../src/server.ts";

const PORT = 7473;
const LINE = { delayMs: 1, jitterMs: 0, bytesPerSecond: Infinity, isBlackHole: false };
const executor = inlineExecutor();

let server: RunningServer;

afterEach(() => server.close());

interface Ground {
  clock: SimulatedClock;
  connect(): { link: SimulatedLink; code: number | undefined };
  opened(): Promise<void>;
}

/** Whoever has a token is the device of that name. */
const SECURITY = {
  devices: {
    deviceOf: (token: string) => ({ id: token, name: token, rights: {} }),
    seen: () => undefined,
    onRightChanged: () => undefined,
    onRevoked: () => undefined,
  },
} as unknown as Security;

/** A server whose volumes are still being opened until `opened` is called. */
async function start(security?: Security): Promise<Ground> {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork(clock, new SeededRandom(1));
  let open: () => void = () => undefined;
  const opening = new Promise<void>((resolve) => {
    open = resolve;
  });
  const starting = serve({
    acceptor: network,
    clock,
    executor,
    host: "127.0.0.1",
    port: PORT,
    software: "test server",
    isSecure: false,
    security,
    volumes: [
      {
        name: "docs",
        folder: "/srv/docs",
        probe: () => opening,
        open: () => Promise.reject(new RunnelError("Unavailable", "serve", "There is none.")),
      },
    ],
    warn: () => undefined,
  });
  await clock.advance(1);
  return {
    clock,
    connect: () => {
      const dialed: ReturnType<Ground["connect"]> = { link: network.connect(PORT, LINE), code: undefined };
      dialed.link.listen({
        message: () => undefined,
        closed: (code) => {
          dialed.code = code;
        },
      });
      return dialed;
    },
    opened: async () => {
      open();
      server = await starting;
    },
  };
}

async function greet({ clock }: Ground, link: SimulatedLink, token?: string): Promise<Connection> {
  const connection = new Connection({
    link,
    isClient: true,
    clock,
    executor,
    opened: () => undefined,
    closed: () => undefined,
  });
  const answer = connection.call("hello", {
    protocol: 1,
    software: "test client",
    ...(token === undefined ? {} : { token }),
  });
  await clock.advance(10);
  await answer;
  return connection;
}

test("[W73] [W172] [limit deviceConnections] a device has at most 64 connections: with one more its oldest is closed, and nobody else's", async () => {
  const ground = await start(SECURITY);
  await ground.opened();
  const [mine, theirs] = ["a".repeat(43), "b".repeat(43)];
  const other = await greet(ground, ground.connect().link, theirs);
  const own: Connection[] = [];
  for (let count = 0; count < LIMITS.deviceConnections; count++)
    own.push(await greet(ground, ground.connect().link, mine));
  expect(own.every(({ isOpen }) => isOpen)).toBe(true);
  for (let count = 0; count < 2; count++) own.push(await greet(ground, ground.connect().link, mine));
  await ground.clock.advance(10);
  expect(own.map(({ isOpen }) => isOpen)).toEqual(own.map((_, index) => index >= 2));
  expect(other.isOpen).toBe(true);
});

describe("connections whose device is not known yet", () => {
  test.each([true, false])(
    "[W73] [limit unauthenticated] are at most 256: for one more another is closed with 4005, none that is known (while volumes are opened: %s)",
    async (isEarly) => {
      const ground = await start();
      if (!isEarly) await ground.opened();
      const greeting = ground.connect();
      const connection = await greet(ground, greeting.link);
      const taken = Array.from({ length: LIMITS.unauthenticated }, () => ground.connect());
      await ground.clock.advance(10);
      const closed = (): (number | undefined)[] => taken.map(({ code }) => code).filter((code) => code !== undefined);
      expect(closed()).toEqual([]);
      taken.push(ground.connect(), ground.connect());
      await ground.clock.advance(10);
      expect(closed()).toEqual([4005, 4005]);
      if (isEarly) await ground.opened();

      // Connections that say nothing go by themselves.
      await ground.clock.advance(TIMING.loginGraceMs);
      expect(closed()).toHaveLength(taken.length);
      expect(connection.isOpen).toBe(true);
    },
  );
});
