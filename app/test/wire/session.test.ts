// A session's lease, against a server that answers as the test wants: how long the client counts on it.
import { describe, expect, test } from "@jest/globals";
import { inlineExecutor } from "@runnel/native";
import {
  type Channel,
  Connection,
  type Link,
  type NodeState,
  type SimulatedLine,
  SeededRandom,
  SimulatedClock,
  SimulatedNetwork,
  TIMING,
  packState,
} from "@runnel/shared";
import { MemoryMachine } from "../../src/agent/machine/memory-machine.ts";
import { Lease } from "../../src/agent/leases/lease.ts";
import { Session } from "../../src/agent/wire/session.ts";
import { Keepalive } from "../../src/agent/wire/keepalive.ts";

const PORT = 7473;
const DELAY_MS = 300;
const executor = inlineExecutor();
const ROOT: NodeState = {
  node: 1,
  type: "folder",
  mode: 0o755,
  uid: 0,
  gid: 0,
  sizeBytes: 0,
  mtimeNs: 0n,
  ctimeNs: 0n,
  nlink: 2,
  rdev: 0,
  target: "",
  version: 0,
  seq: 0,
};

interface Told {
  /** The server's ends of the connections that there were. */
  links: Link[];
  session: Session;
  clock: SimulatedClock;
  line: SimulatedLine;
  machine: MemoryMachine;
  /** Each lease that the drive was told of, and when. */
  leases: { untilMs: number; atMs: number }[];
}

/** A session that has attached. The server gives the lease to the first question only. */
async function attached(termMs: number, wasUsed = true, delayMs = DELAY_MS): Promise<Told> {
  const clock = new SimulatedClock();
  const network = new SimulatedNetwork(clock, new SeededRandom(1));
  let questions = 0;
  const links: Link[] = [];
  const serve = async (channel: Channel, operation: string): Promise<void> => {
    if (operation === "hello") {
      channel.end({ protocol: 1, software: "test server", termMs: 0, features: ["example.later"] });
      return;
    }
    if (operation === "stat") return;
    const facts = { epoch: "e", seq: 0, root: packState(ROOT), nodes: null, isResumed: false, isReadOnly: false };
    channel.send({ ...facts, termMs });
    for (let item = await channel.next(); item !== undefined; item = await channel.next()) {
      const [what, k] = item as [string, number];
      if (what === "current") channel.send(questions++ === 0 ? ["current", k, 0] : ["not", k]);
    }
    channel.end();
  };
  await network.listen("127.0.0.1", PORT, (link) => {
    links.push(link);
    void new Connection({ link, isClient: false, clock, executor, opened: serve, closed: () => undefined });
  });
  const line = network.line({ delayMs });
  const machine = new MemoryMachine();
  const leases: Told["leases"] = [];
  const nothing = (): void => undefined;
  const session = new Session({
    url: `ws://127.0.0.1:${PORT}`,
    volume: "docs",
    clock,
    dialer: line,
    machine,
    executor,
    instance: () => "1".repeat(32),
    software: "test",
    wasUsed: () => wasUsed,
    resume: () => undefined,
    listsAll: false,
    events: {
      attached: async () => undefined,
      changes: nothing,
      current: nothing,
      content: nothing,
      listAgain: nothing,
      lease: (untilMs) => void leases.push({ untilMs, atMs: clock.bootMs() }),
      waiting: nothing,
      silence: nothing,
      lack: async () => undefined,
      link: nothing,
    },
  });
  const starting = session.start();
  await clock.advance(20 * DELAY_MS);
  await starting;
  return { session, clock, line, machine, links, leases };
}

test("[W178] the server's features can be asked for, and unknown ones do nothing", async () => {
  const { session } = await attached(TIMING.leaseTermMs);
  expect(session.features).toEqual(["example.later"]);
  expect(session.isConnected).toBe(true);
});

describe("a suspension", () => {
  test("gives the lease and the connection back, and nothing crosses the line until it ends", async () => {
    const { session, clock, leases, links } = await attached(TIMING.leaseTermMs);
    const asked = session.ask("stat", { nodes: [1] });
    asked.catch(() => undefined);
    const suspending = session.suspend("Paused until 14:00.");
    expect([session.isResponsive, session.hasLease, leases.at(-1)?.untilMs]).toEqual([false, false, 0]);
    await clock.advance(4 * DELAY_MS);
    await suspending;
    await expect(asked).rejects.toMatchObject({ kind: "Unreachable", message: "Paused until 14:00." });
    const crossed = links.reduce((sum, link) => sum + link.receivedBytes + link.sentBytes, 0);
    const beganMs = clock.bootMs();
    for (const waiting of [session.current(), session.responsive(60_000), session.call("stat", { nodes: [1] })])
      await expect(waiting).rejects.toMatchObject({ kind: "Unreachable", message: "Paused until 14:00." });
    expect(clock.bootMs()).toBe(beganMs);
    await clock.advance(300_000);
    expect([links.length, links.reduce((sum, link) => sum + link.receivedBytes + link.sentBytes, 0)]).toEqual([
      1,
      crossed,
    ]);
    session.wake();
    await clock.advance(20 * DELAY_MS);
    expect([session.isResponsive, links.length]).toEqual([true, 2]);
  });

  test("that begins while it connects lets it not connect, and ends with the session", async () => {
    const { session, clock, line, links } = await attached(TIMING.leaseTermMs);
    line.cut();
    await clock.runUntil(() => links.length > 1, 60_000);
    await session.suspend("Paused.");
    await clock.advance(60_000);
    expect([session.isConnected, links.length]).toEqual([false, 2]);
    await session.suspend("Paused for longer.");
    expect(session.why).toBe("Paused for longer.");
    await session.close();
    expect(session.isConnected).toBe(false);
  });
});

describe("the lease", () => {
  test.each([
    [TIMING.leaseTermMs, TIMING.leaseMarginMs],
    [1_200, 300],
  ])(
    "[W14] [limit leaseMarginMs] of %d ms is counted from the question, less a margin of %d ms, and is over then",
    async (termMs, marginMs) => {
      const { session, clock, leases } = await attached(termMs);
      const [lease] = leases;
      if (lease === undefined) throw new Error("There is no lease.");
      expect(lease.untilMs).toBe(lease.atMs - 2 * DELAY_MS + termMs - marginMs);
      if (termMs === TIMING.leaseTermMs) {
        await clock.advance(lease.untilMs - clock.bootMs() - 1);
        expect(session.hasLease).toBe(true);
        await clock.advance(1);
      }
      expect(session.hasLease).toBe(false);
      const closing = session.close();
      await clock.advance(10 * DELAY_MS);
      await closing;
    },
  );
});

describe("after an outage in which nobody can be reached", () => {
  // Dialing takes two round trips, and attaching one.
  const DIALED_MS = 6 * DELAY_MS;

  test.each([
    ["isDown", 1_000, 1_000],
    ["isDown", 20_000, 1_000],
    ["isDown", 55_000, 1_000],
    ["isDown", 70_000, 10_000],
    ["isDown", 3_600_000, 10_000],
    // An attempt then hangs for long after it.
    ["isBlackHole", 1_000, 1_000],
    ["isBlackHole", 13_000, 1_000],
    ["isBlackHole", 55_000, 1_000],
    ["isBlackHole", 3_600_000, 10_000],
  ] as const)(
    "that is %s for %d ms, it is there again within %d ms of the line's return, and not tried too often",
    async (outage, outageMs, withinMs) => {
      const { session, clock, line } = await attached(TIMING.leaseTermMs);
      const dial = line.dial.bind(line);
      let attempts = 0;
      line.dial = (...what) => {
        attempts++;
        return dial(...what);
      };
      line[outage] = true;
      line.cut();
      await clock.advance(outageMs);
      expect(session.isConnected).toBe(false);
      // Twice a second or so for a minute, once in some seconds then.
      expect(attempts).toBeLessThan(60_000 / 350 + outageMs / 4_000);
      line[outage] = false;
      await clock.advance(withinMs + DIALED_MS);
      expect(session.isConnected).toBe(true);
      const closing = session.close();
      await clock.advance(10 * DELAY_MS);
      await closing;
    },
  );
});

describe("after an outage that is shorter than the request timeout", () => {
  const LINE_MS = 50;
  // Dialing takes two round trips, and attaching one; one is waited for a sign of the old connection.
  const DIALED_MS = 8 * LINE_MS;

  test.each([2_000, 4_000, 9_000])(
    "of %d ms, what was asked in it is answered within a second of the line's return, though the old connection stays silent for long",
    async (outageMs) => {
      const { session, clock, line } = await attached(TIMING.leaseTermMs, true, LINE_MS);
      line.backsOff = true;
      line.isBlackHole = true;
      await clock.advance(1);
      let outcome = "";
      session.withRequestTimeout(session.call("stat", {}), "stat").then(
        () => (outcome = "answered"),
        (error: Error) => (outcome = error.message),
      );
      await clock.advance(outageMs);
      line.isBlackHole = false;
      await clock.advance(1_000 + DIALED_MS);
      expect(session.isResponsive).toBe(true);
      expect(outcome).toBe("The line is there again, the connection was not.");
      const closing = session.close();
      await clock.advance(10 * DELAY_MS);
      await closing;
    },
  );

  test("who waits for a server that is silent waits until it says something, and no longer than the request timeout", async () => {
    const { session, clock, line } = await attached(TIMING.leaseTermMs, true, LINE_MS);
    line.isBlackHole = true;
    const asking = session.ask("stat", {}).catch(() => undefined);
    await clock.advance(TIMING.silenceMs + 500);
    await asking;
    expect([session.isConnected, session.isResponsive]).toEqual([true, false]);
    const waits = async (requestTimeoutMs: number): Promise<string> => {
      const beganMs = clock.bootMs();
      const outcome = await session.responsive(requestTimeoutMs).then(
        () => "online",
        () => "given up",
      );
      return `${outcome} after ${Math.round((clock.bootMs() - beganMs) / 1_000)} s`;
    };
    const [short, long] = [waits(2_000), waits(8_000)];
    await clock.advance(4_000);
    expect(await short).toBe("given up after 2 s");
    line.isBlackHole = false;
    await clock.advance(1_000);
    expect(await long).toBe("online after 4 s");
    const closing = session.close();
    await clock.advance(10 * DELAY_MS);
    await closing;
  });

  test("a server that is busy for long is not taken for one", async () => {
    const { session, clock, line } = await attached(TIMING.leaseTermMs);
    let attempts = 0;
    const dial = line.dial.bind(line);
    line.dial = (...what) => {
      attempts++;
      return dial(...what);
    };
    const asking = session.withRequestTimeout(session.call("stat", {}), "stat").catch(() => undefined);
    await clock.advance(9_000);
    expect(attempts).toBe(0);
    const closing = session.close();
    await clock.advance(10 * DELAY_MS);
    await Promise.all([closing, asking]);
  });
});

describe("a lease that is given back", () => {
  test("[W17] stays so, though the answer to a question from before it comes after that", async () => {
    const clock = new SimulatedClock();
    const leases: number[] = [];
    const sent: unknown[] = [];
    const connection = { link: { receivedBytes: 0 }, unacknowledgedBytes: 0, isBehind: false, close: () => undefined };
    const lease: Lease = new Lease({
      clock,
      keepalive: new Keepalive(clock, () => undefined),
      connection: () => connection as unknown as Connection,
      feed: () => ({ send: (item: unknown) => void sent.push(item) }) as unknown as Channel,
      isUsed: () => false,
      changed: () => void leases.push(lease.untilMs),
      interrupted: () => undefined,
      measured: () => undefined,
    });
    lease.attached(1_000, false);
    lease.used();
    lease.schedule(0);
    await clock.advance(1);
    lease.answered(1, true);
    expect(lease.isHeld).toBe(true);
    // The last questions of the term meet a slow line.
    await clock.advance(2_000);
    expect(sent.at(-1)).toEqual(["idle"]);
    expect(leases.at(-1)).toBe(0);
    for (let question = 2; question < sent.length; question++) lease.answered(question, true);
    expect(lease.isHeld).toBe(false);
    expect(leases.at(-1)).toBe(0);
  });
});

describe("a server that is busy with a change for minutes", () => {
  test.each([TIMING.leaseTermMs, 100_000])(
    "is waited for, since it answers questions meanwhile, also with a term of %d ms",
    async (termMs) => {
      const { session, clock } = await attached(termMs, false);
      const { promise, resolve } = Promise.withResolvers<string>();
      const change = session.withRequestTimeout(promise, "write");
      let said = "";
      change.then(
        (text) => (said = text),
        (error: Error) => (said = error.message),
      );
      await clock.advance(300_000);
      expect(said).toBe("");
      expect(session.isResponsive).toBe(true);
      resolve("done");
      await clock.advance(1);
      expect(said).toBe("done");
      // A reader is told when nothing comes, once nobody else uses the drive.
      const read = session.whileItComes(new Promise<never>(() => undefined), "fetch");
      read.catch((error: Error) => (said = error.message));
      await clock.advance(termMs + 3 * TIMING.requestTimeoutMs);
      expect(said).toMatch(/does not answer/);
      const closing = session.close();
      await clock.advance(10 * DELAY_MS);
      await closing;
    },
  );
});

describe("a machine that slept while its line died without a word", () => {
  test("has another connection within seconds, though nobody asks anything", async () => {
    const { session, clock, line, machine, links } = await attached(TIMING.leaseTermMs, false);
    await clock.advance(10 * TIMING.leaseTermMs);
    line.backsOff = true;
    line.isBlackHole = true;
    expect(session.subscribe([[1, 0]])).toBe(true);
    await clock.advance(60_000);
    line.isBlackHole = false;
    expect([links.length, session.isConnected]).toEqual([1, true]);
    machine.change("woke");
    await clock.advance(10_000);
    expect([links.length, session.isResponsive]).toEqual([2, true]);
    await Promise.all([session.close(), clock.advance(2_000)]);
  });

  test("keeps a connection that answers", async () => {
    const { session, clock, machine, links } = await attached(TIMING.leaseTermMs, false);
    machine.change("network");
    machine.change("woke");
    await clock.advance(10_000);
    expect([links.length, session.isResponsive]).toEqual([1, true]);
    await Promise.all([session.close(), clock.advance(2_000)]);
    machine.change("woke");
    await clock.advance(10_000);
    expect(links).toHaveLength(1);
  });
});
