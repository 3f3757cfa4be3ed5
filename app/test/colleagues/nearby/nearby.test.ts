// Devices that find each other by mDNS: what is said, what is believed, and that all of it has bounds.
import { describe, expect, test } from "@jest/globals";
import { LIMITS, SimulatedClock } from "@runnel/shared";
import { MemoryMulticast } from "../../../src/agent/colleagues/nearby/memory-multicast.ts";
import { Nearby } from "../../../src/agent/colleagues/nearby/nearby.ts";
import { nearbyAnswer, nearbyQuestion, readNearby } from "../../../src/agent/colleagues/nearby/nearby-messages.ts";
import { all, runOf, wholeContent } from "../../transfer/sources/chunk-source-contract.ts";
import { Office, type Seat } from "../office-rig.ts";
import { datagramOf, readDatagram } from "./fuzz-nearby.ts";

const NEVER = new AbortController().signal;
const NOW = AbortSignal.abort();
const key = (seed: number): string => Buffer.alloc(32, seed).toString("base64url");

function rig(): { clock: SimulatedClock; link: MemoryMulticast; at(address: string): Nearby } {
  const [clock, link] = [new SimulatedClock(), new MemoryMulticast()];
  return { clock, link, at: (address) => new Nearby({ clock, multicast: link.at(address) }) };
}

/** Resolves when all that was said has been heard. */
const heard = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("a device on the network at hand", () => {
  test("is found by its key, at the address from which it answered", async () => {
    const { clock, at } = rig();
    const [laptop, desk] = [at("10.0.0.1"), at("10.0.0.2")];
    laptop.open(laptop, { key: key(1), port: 1001 });
    await clock.advance(2_000);
    desk.open(desk, { key: key(2), port: 1002 });
    expect(await desk.find(key(1), NEVER)).toEqual([{ address: "10.0.0.1", port: 1001 }]);
    expect(await laptop.find(key(2), NEVER)).toEqual([{ address: "10.0.0.2", port: 1002 }]);
    expect(await desk.find(key(3), AbortSignal.timeout(1))).toEqual([]);
  });

  test("is waited for until it answers, and no longer than whoever waits wants", async () => {
    const { at } = rig();
    const [laptop, desk] = [at("10.0.0.1"), at("10.0.0.2")];
    desk.open(desk, { key: key(2), port: 1002 });
    const [over, found] = [new AbortController(), desk.find(key(1), NEVER)];
    const unheard = desk.find(key(3), over.signal);
    laptop.open(laptop, { key: key(1), port: 1001 });
    expect(await found).toHaveLength(1);
    over.abort();
    expect(await unheard).toEqual([]);
  });

  test("says a port and a fingerprint, and no name", async () => {
    const said = Buffer.from(await datagramOf(nearbyAnswer({ key: key(1), port: 1001 })));
    const text = said.toString("latin1").replace(`key=${key(1)}`, "");
    expect(new Set(text.match(/[a-z_]{4,}/gi))).toEqual(new Set(["_runnel", "_tcp", "local"]));
    expect(said.length).toBeLessThan(LIMITS.nearbyBytes / 4);
    expect(readNearby(readDatagram(said)[0]).told).toEqual([{ key: key(1), port: 1001 }]);
    const gone = await datagramOf(nearbyAnswer({ key: key(1), port: 1001 }, true));
    expect(readNearby(readDatagram(gone)[0]).told).toEqual([]);
    expect(readNearby(readDatagram(await datagramOf(nearbyQuestion()))[0]).asks).toBe(true);
  });

  test("answers and asks once in a second, whoever asks how often", async () => {
    const { clock, link, at } = rig();
    const laptop = at("10.0.0.1");
    laptop.open(laptop, { key: key(1), port: 1001 });
    await heard();
    const before = link.said.length;
    for (let count = 0; count < 50; count++) link.say(nearbyQuestion(), "10.0.0.9");
    await heard();
    expect(link.said).toHaveLength(before);
    for (let count = 0; count < 20; count++) void laptop.find(key(5), NEVER);
    await clock.advance(1_100);
    expect(
      link.said
        .slice(before)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(["query", "response"]);
  });

  test("is told where a link comes up later", async () => {
    const { clock, link, at } = rig();
    const laptop = at("10.0.0.1");
    laptop.open(laptop, { key: key(1), port: 1001 });
    await clock.advance(5_000);
    const before = link.said.length;
    link.join();
    expect(link.said.slice(before).map(({ type }) => type)).toEqual(["response", "query"]);
  });

  test("[limit nearbyDevices] [limit nearbyAddresses] are the last heard of", async () => {
    const { clock, link, at } = rig();
    const desk = at("10.0.0.2");
    desk.open(desk, { key: key(200), port: 1002 });
    for (let seed = 0; seed <= LIMITS.nearbyDevices; seed++) {
      link.say(nearbyAnswer({ key: key(seed), port: 1 + seed }), "10.0.0.9");
      await heard();
    }
    expect(await desk.find(key(0), NOW)).toEqual([]);
    expect(await desk.find(key(1), NEVER)).toHaveLength(1);
    await clock.advance(1_000);
    for (let last = 1; last <= LIMITS.nearbyAddresses + 1; last++)
      link.say(nearbyAnswer({ key: key(1), port: 7 }), `10.0.1.${last}`);
    await heard();
    const found = await desk.find(key(1), NEVER);
    expect(found).toHaveLength(LIMITS.nearbyAddresses);
    expect(found.at(-1)).toEqual({ address: `10.0.1.${LIMITS.nearbyAddresses + 1}`, port: 7 });
  });

  test("[limit nearbyMessages] are heard in a second: what is more is as if it were not said", async () => {
    const { clock, link, at } = rig();
    const desk = at("10.0.0.2");
    await clock.advance(1_000);
    desk.open(desk, { key: key(200), port: 1002 });
    await heard();
    for (let count = 0; count < LIMITS.nearbyMessages; count++) link.say("nonsense", "10.0.0.9");
    link.say(nearbyAnswer({ key: key(1), port: 7 }), "10.0.0.1");
    await heard();
    const found = desk.find(key(1), NEVER);
    await clock.advance(1_000);
    link.say(nearbyAnswer({ key: key(1), port: 8 }), "10.0.0.1");
    expect(await found).toEqual([{ address: "10.0.0.1", port: 8 }]);
  });

  test("is forgotten when it was not heard for two minutes", async () => {
    const { clock, link, at } = rig();
    const desk = at("10.0.0.2");
    desk.open(desk, { key: key(200), port: 1002 });
    link.say(nearbyAnswer({ key: key(1), port: 7 }), "10.0.0.1");
    expect(await desk.find(key(1), NEVER)).toHaveLength(1);
    await clock.advance(121_000);
    const over = new AbortController();
    const found = desk.find(key(1), over.signal);
    over.abort();
    expect(await found).toEqual([]);
  });

  test.each([
    undefined,
    null,
    5,
    "x",
    [],
    {},
    { type: "response", answers: [null, 5, { name: 1 }] },
    { type: "query" },
  ])("is not heard in %j", (message) => {
    expect(readNearby(message)).toEqual({ asks: false, told: [] });
  });
});

describe("a drive with colleagues", () => {
  async function brought(to: Seat, content: Awaited<ReturnType<typeof wholeContent>>): Promise<number> {
    let bytes = 0;
    for await (const run of to.colleagues.source.get(content, all(content), NEVER)) {
      if (run.count === 0 || run.isGivenUp === true) continue;
      expect(Buffer.compare(run.bytes, runOf(content, run).bytes)).toBe(0);
      bytes += run.bytes.length;
    }
    return bytes;
  }

  test("reaches one whose addresses at the server lead nowhere, and only one that the server has named", async () => {
    const office = new Office();
    try {
      const content = await wholeContent(1);
      const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
      office.server.addresses = [];
      expect(await brought(desk, content)).toBe(0);
      await laptop.keep(content);
      expect(await brought(desk, content)).toBe(content.sizeBytes);
    } finally {
      await office.close();
    }
  });

  test("believes no other device that says its key", async () => {
    const office = new Office();
    try {
      const content = await wholeContent(1);
      const [laptop, liar, desk] = [await office.seat("laptop"), await office.seat("liar"), await office.seat("desk")];
      office.server.addresses = [];
      await laptop.keep(content);
      await laptop.device.nearby?.close(laptop.colleagues.offer);
      const own = Buffer.from(await laptop.device.key()).toString("base64url");
      office.link.say(nearbyAnswer({ key: own, port: liar.port }), "127.0.0.1");
      await heard();
      expect(await brought(desk, content)).toBe(0);
      expect(desk.said).toEqual([`The colleague "laptop" does not answer: others are asked.`]);
    } finally {
      await office.close();
    }
  });

  test("says nothing by mDNS while it is off, paused, metered, or of everyone", async () => {
    const office = new Office();
    try {
      const laptop = await office.seat("laptop");
      expect(office.link.lines).toBe(1);
      const follows = async (lines: number): Promise<void> => {
        await laptop.follow();
        expect(office.link.lines).toBe(lines);
      };
      laptop.isSuspended = true;
      await follows(0);
      laptop.isSuspended = false;
      await follows(1);
      laptop.settings.isMetered = true;
      await follows(0);
      laptop.settings.isMetered = false;
      await follows(1);
      laptop.settings.colleagues = "everyone";
      await follows(0);
      laptop.settings.colleagues = "network";
      await follows(1);
      laptop.settings.colleagues = "off";
      await follows(0);
      expect(office.link.said.at(-1)).toMatchObject({
        type: "response",
        answers: [{ ttl: 0 }, { ttl: 0 }, { ttl: 0 }],
      });
    } finally {
      await office.close();
    }
  });
});
