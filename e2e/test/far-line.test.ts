// A drive over a line of seconds: it mounts and works, and what only asks does not make it offline. On simulated time.
import { afterEach, describe, expect, test } from "@jest/globals";
import { constants } from "node:fs";
import { SimulatedPlace } from "../src/simulation/index.ts";

const { O_RDWR, O_CREAT } = constants;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
/** TCP, the upgrade, then hello, attach and the listing in one flight. */
const MOUNT_ROUND_TRIPS = 3;

let place: SimulatedPlace;

afterEach(() => place.close());

async function took<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const startMs = place.clock.bootMs();
  const result = await place.run(work());
  return { result, ms: place.clock.bootMs() - startMs };
}

async function isConnected(): Promise<boolean> {
  return (await place.mount.status(false)).state === "connected";
}

describe.each([2_000, 5_000, 10_000])("over a line with a round trip of %d ms", (roundTripMs) => {
  test("[W131] a drive is mounted, listed, read, saved to and asked how it is, and is never offline", async () => {
    place = new SimulatedPlace(1, { delayMs: roundTripMs / 2 });
    await place.open({ a: bytes("of the server"), b: bytes("other") });
    const program = place.drive.program();
    expect(await place.run(program.readdir(""))).toEqual(["a", "b"]);
    const read = await took(async () => program.read(await program.open("a", O_RDWR), 0, 100));
    expect(new TextDecoder().decode(read.result)).toBe("of the server");
    // The lease, if it is not there yet, and the content.
    expect(read.ms).toBeLessThanOrEqual(2 * roundTripMs + 100);
    const save = await took(async () => {
      const fd = await program.open("new", O_RDWR | O_CREAT);
      await program.write(fd, 0, bytes("from here"));
      await program.close(fd);
    });
    expect(save.ms).toBeLessThanOrEqual(2 * roundTripMs + 100);
    const asked = await took(() => place.mount.status(true));
    expect(asked.result).toMatchObject({ state: "connected", server: { stuck: null } });
    expect(asked.ms).toBeLessThanOrEqual(roundTripMs + 100);
    // Programs go on for minutes, and are answered from here.
    for (let turn = 0; turn < 60; turn++) {
      expect(await isConnected()).toBe(true);
      await place.run(program.stat("b"));
      await place.clock.advance(1_000);
    }
    expect((await took(() => program.stat("b"))).ms).toBe(0);
    expect(place.log).toEqual([]);
  });
});

test("[W162] over a line whose round trip is as long as the server's leases are meant to last there are leases all the same", async () => {
  place = new SimulatedPlace(1, { delayMs: 1_000 }, 2_000);
  await place.open({ a: bytes("of the server") });
  const program = place.drive.program();
  await place.run(program.readdir(""));
  for (let turn = 0; turn < 20; turn++) {
    await place.clock.advance(500);
    expect((await took(() => program.stat("a"))).ms).toBe(0);
  }
});

test("[W130] a mount costs a flight after the upgrade, and the lease one more", async () => {
  place = new SimulatedPlace(1, { delayMs: 50 });
  await place.open({ a: bytes("text") });
  expect(place.mountingMs).toBe(MOUNT_ROUND_TRIPS * 100);
  const asked = await took(async () => place.drive.program().readdir(""));
  // The lease is still under way; nobody else is to be waited for.
  expect(asked).toEqual({ result: ["a"], ms: 100 });
});

describe("how much room the server has", () => {
  test("is answered without asking it, whoever asks how often, and also offline", async () => {
    place = new SimulatedPlace(1, { delayMs: 50 });
    await place.open({ a: bytes("text") });
    const program = place.drive.program();
    const space = await place.run(program.statfs());
    expect(space.totalBytes).toBeGreaterThan(0);
    place.mount.resetStatistics();
    for (let turn = 0; turn < 100; turn++) {
      expect((await took(() => program.statfs())).ms).toBe(0);
      await place.clock.advance(1_000);
    }
    expect(place.mount.statistics().roundTrips).toBe(0);
    place.line.line.isDown = true;
    place.line.line.cut();
    await place.clock.advance(100);
    expect(await isConnected()).toBe(false);
    expect(await took(() => program.statfs())).toEqual({ result: space, ms: 0 });
    place.line.line.isDown = false;
  });
});

describe("a server that says nothing", () => {
  test("is asked how it is with a timeout of its own: that makes no drive offline", async () => {
    place = new SimulatedPlace(1, { delayMs: 50 });
    await place.open({ a: bytes("text") });
    const program = place.drive.program();
    await place.run(program.stat("a"));
    place.line.line.isBlackHole = true;
    const asked = await took(() => place.mount.status(true));
    expect(asked.result).toMatchObject({ server: null });
    expect(asked.ms).toBeLessThan(2_500);
    place.line.line.isBlackHole = false;
    expect(await isConnected()).toBe(true);
  });
});
