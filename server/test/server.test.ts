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

/** A server whose volumes are still being opened until `opened` is called. */
async function start(): Promise<Ground> {
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
    security: undefined,
    volumes: [
      {
        name: "docs",
        folder: "/srv/docs",
        look: () => opening,
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

describe("connections whose device is not known yet", () => {
  test.each([true, false])(
    "[W73] [limit strangers] are at most 256: for one more another is closed with 4005, none that is known (while volumes are opened: %s)",
    async (isEarly) => {
      const ground = await start();
      if (!isEarly) await ground.opened();
      const greeting = ground.connect();
      const connection = new Connection({
        link: greeting.link,
        isClient: true,
        clock: ground.clock,
        executor,
        opened: () => undefined,
        closed: () => undefined,
      });
      const answer = connection.call("hello", { protocol: 1, software: "test client" });
      await ground.clock.advance(10);
      await answer;
      const taken = Array.from({ length: LIMITS.strangers }, () => ground.connect());
      await ground.clock.advance(10);
      const closed = (): (number | undefined)[] => taken.map(({ code }) => code).filter((code) => code !== undefined);
      expect(closed()).toEqual([]);
      taken.push(ground.connect(), ground.connect());
      await ground.clock.advance(10);
      expect(closed()).toEqual([4005, 4005]);
      if (isEarly) await ground.opened();

      // Those that say nothing go by themselves.
      await ground.clock.advance(TIMING.strangerMs);
      expect(closed()).toHaveLength(taken.length);
      expect(connection.isOpen).toBe(true);
    },
  );
});
