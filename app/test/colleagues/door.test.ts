// A device that gives to colleagues what it has: whom it lets in, and what they get. The connections are real ones.
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  Connection,
  LIMITS,
  type Link,
  PROTOCOL_VERSION,
  RealClock,
  type RunnelError,
  TicketKey,
  sleep,
  wallMs,
} from "@runnel/shared";
import { inlineExecutor } from "@runnel/native";
import { textOf } from "../../src/agent/colleagues/offer.ts";
import { type WholeContent, all, runOf, wholeContent } from "../transfer/sources/chunk-source-contract.ts";
import { EPOCH, Office, type Seat } from "./office-rig.ts";

const clock = new RealClock();
const executor = inlineExecutor();
const TICKET_MS = 120_000;

let office: Office;
let content: WholeContent;
let [laptop, desk]: Seat[] = [];
let links: Link[];

beforeEach(async () => {
  links = [];
  office = new Office();
  content = await wholeContent(1);
  [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
  await laptop.keep(content);
});

afterEach(async () => {
  for (const link of links) link.close(1000, "");
  await office.close();
});

function given<T>(value: T | undefined): T {
  if (value === undefined) throw new Error("It is not there.");
  return value;
}

/** A link from one device to another, as that one's colleague. */
async function dialed(from: Seat, to: Seat): Promise<Link> {
  await from.device.key();
  const dialer = from.device.dialerFor(textOf(await to.device.key()));
  const link = await dialer.dial(`wss://127.0.0.1:${to.port}/`);
  links.push(link);
  return link;
}

interface Caller {
  connection: Connection;
  ended: Promise<RunnelError>;
  ask(ticket: Uint8Array, wanted?: [number, number][]): Promise<number>;
}

async function greeted(from: Seat, to: Seat, link?: Link): Promise<Caller> {
  const ended = Promise.withResolvers<RunnelError>();
  const connection = new Connection({
    link: link ?? (await dialed(from, to)),
    isClient: true,
    clock,
    executor,
    opened: () => undefined,
    closed: (error) => ended.resolve(error),
  });
  await connection.call("hello", { protocol: PROTOCOL_VERSION, software: "test" });
  /** @returns bytes that came. */
  const ask = async (ticket: Uint8Array, wanted: [number, number][] = [[0, 4]]): Promise<number> => {
    const channel = connection.ask("getChunks", { ticket, wanted });
    let bytes = 0;
    for (let item = await channel.next(); item !== undefined; item = await channel.next()) {
      const [, , , , rawBytes, encodedBytes] = item as [string, number, number, string, number, number];
      await channel.readBulk(encodedBytes);
      bytes += rawBytes;
    }
    return bytes;
  };
  return { connection, ended: ended.promise, ask };
}

/** A ticket as the server gives it to a device. */
async function ticketOf(seat: Seat): Promise<Uint8Array> {
  const wanted = all(content).map(({ from, count }): [number, number] => [from, count]);
  const body = { version: [7, 1], wanted, without: [], hasTicket: false, waitMs: 0 };
  const { ticket } = (await seat.session.inBackground("locate", body)) as { ticket: Uint8Array };
  return new Uint8Array(ticket);
}

const DENIED = { kind: "Denied", detail: { rule: "W197" } };

describe("whoever has a ticket", () => {
  test("[W198] gets what is here of its version, as it is", async () => {
    const { ask } = await greeted(given(desk), given(laptop));
    expect(await ask(await ticketOf(given(desk)), [[0, content.recipe.lengths.length]])).toBe(content.sizeBytes);
    expect(await ask(await ticketOf(given(desk)), [[1_000_000, 5]])).toBe(0);
  });

  test("[W197] [W198] is let in with its own key only", async () => {
    const outsider = await office.seat("outsider");
    const { ask } = await greeted(outsider, given(laptop));
    await expect(ask(await ticketOf(given(desk)))).rejects.toMatchObject(DENIED);
    // The server gives it one, too.
    expect(await ask(await ticketOf(outsider))).toBeGreaterThan(0);
  });

  test("[W197] [W198] is let in for two minutes", async () => {
    const ticket = await ticketOf(given(desk));
    const { ask } = await greeted(given(desk), given(laptop));
    expect(await ask(ticket)).toBeGreaterThan(0);
    // The server's clock has gone on, as the next announce says.
    await office.clock.advance(TICKET_MS);
    await given(laptop).follow();
    await expect(ask(ticket)).rejects.toMatchObject(DENIED);
    expect(await ask(await ticketOf(given(desk)))).toBeGreaterThan(0);
  });

  test("[W197] [W198] is not let in with one of another server, volume or version", async () => {
    const key = await given(desk).device.key();
    const untilMs = wallMs(office.clock) + TICKET_MS;
    const { ask } = await greeted(given(desk), given(laptop));
    const strange = new TicketKey().sign({ epoch: EPOCH, version: content.version, key, untilMs });
    await expect(ask(strange)).rejects.toMatchObject(DENIED);
    await expect(ask(new Uint8Array(10))).rejects.toMatchObject(DENIED);
    const { ticketKey } = office.server;
    const elsewhere = ticketKey.sign({ epoch: "f".repeat(32), version: content.version, key, untilMs });
    await expect(ask(elsewhere)).rejects.toMatchObject(DENIED);
    expect(await ask(ticketKey.sign({ epoch: EPOCH, version: content.version, key, untilMs }))).toBeGreaterThan(0);
    const other = await wholeContent(3, 400_000);
    await given(laptop).keep({ ...other, version: { node: 8, seq: 1 } });
    // The ticket names the version: what comes is that one's.
    const ofOther = ticketKey.sign({ epoch: EPOCH, version: { node: 8, seq: 1 }, key, untilMs });
    const wanted: [number, number][] = [[0, content.recipe.lengths.length]];
    expect(await ask(ofOther, wanted)).toBe(other.sizeBytes);
    expect(await ask(await ticketOf(given(desk)), wanted)).toBe(content.sizeBytes);
  });

  test("[W199] is cut off, and let in no more, when its device has lost its right", async () => {
    const ticket = await ticketOf(given(desk));
    const { ask, ended } = await greeted(given(desk), given(laptop));
    expect(await ask(ticket)).toBeGreaterThan(0);
    office.server.shutOut("desk");
    expect(await ended).toMatchObject({ kind: "Unreachable" });
    const again = await greeted(given(desk), given(laptop));
    await expect(again.ask(ticket)).rejects.toMatchObject(DENIED);
  });

  test("[W198] gets nothing while the drive is paused, or its setting is off", async () => {
    const ticket = await ticketOf(given(desk));
    const { ask, ended } = await greeted(given(desk), given(laptop));
    given(laptop).isSuspended = true;
    await expect(ask(ticket)).rejects.toMatchObject(DENIED);
    given(laptop).colleagues.disconnected();
    await given(laptop).colleagues.settled();
    expect(await ended).toMatchObject({ kind: "Unreachable" });
    expect(await isListening(given(laptop).port)).toBe(false);
    expect(await isListening(given(desk).port)).toBe(true);
    given(desk).settings.colleagues = "off";
    const { port } = given(desk);
    await given(desk).follow();
    expect(await isListening(port)).toBe(false);
  });

  test("[W198] gets nothing of a folder that is paused, of which the server is told nothing either", async () => {
    const ticket = await ticketOf(given(desk));
    const { ask } = await greeted(given(desk), given(laptop));
    const located = (): Promise<unknown[]> =>
      given(desk).colleagues.source.locate(content, all(content), new AbortController().signal);
    expect(await located()).toHaveLength(1);
    given(laptop).paused.add(content.version.node);
    given(laptop).colleagues.pausesChanged();
    await expect(ask(ticket)).rejects.toMatchObject(DENIED);
    given(desk).colleagues.source.disconnected();
    const isSaid = async (): Promise<boolean> => {
      given(desk).colleagues.source.disconnected();
      return (await located()).length > 0;
    };
    while (await isSaid()) await sleep(clock, 20);
    given(laptop).paused.clear();
    given(laptop).colleagues.pausesChanged();
    while (!(await isSaid())) await sleep(clock, 20);
    expect(await ask(ticket)).toBeGreaterThan(0);
  });

  test("[limit colleagueRequests] [W198] has eight requests answered at a time", async () => {
    given(laptop).settings.colleaguesUpBytes = 1;
    const ticket = await ticketOf(given(desk));
    const { connection } = await greeted(given(desk), given(laptop));
    const ask = () => connection.ask("getChunks", { ticket, wanted: [[0, 400]] });
    const asked = Array.from({ length: LIMITS.colleagueRequests }, ask);
    await expect(ask().result()).rejects.toMatchObject({
      kind: "Busy",
      detail: { limit: LIMITS.colleagueRequests, retryAfterMs: 100 },
    });
    for (const channel of asked) channel.cancel();
  });

  test("[W198] gets no bytes that a disk has changed", async () => {
    const held = given(given(laptop).cache.find(content.version));
    const { offset, length } = { offset: 0, length: content.recipe.lengths[0] ?? 0 };
    const file = await given(laptop).machine.root.open(held.path.replace(/^\/cache\//, ""), "write");
    await file.write(offset, new Uint8Array(length).fill(1));
    await file.close();
    const { ask } = await greeted(given(desk), given(laptop));
    const whole = runOf(content, { from: 0, count: content.recipe.lengths.length }).bytes.length;
    const came = await ask(await ticketOf(given(desk)), [[0, content.recipe.lengths.length]]);
    expect(came).toBeLessThan(whole);
    expect(came).toBeGreaterThan(0);
  });
});

describe("whoever has none", () => {
  test("[W73] [W198] may say 16 KiB", async () => {
    const link = await dialed(given(desk), given(laptop));
    const closed = Promise.withResolvers<number>();
    link.listen({ message: () => undefined, closed: (code) => closed.resolve(code) });
    for (let sent = 0; sent <= LIMITS.unauthenticatedBytes; sent += 4096) link.send(new Uint8Array(4096));
    expect(await closed.promise).toBeGreaterThan(1000);
  });

  test("[W198] is answered hello, and nothing else", async () => {
    const { connection } = await greeted(given(desk), given(laptop));
    await expect(connection.call("attach", { volume: "docs" })).rejects.toMatchObject({ kind: "Unsupported" });
    await expect(connection.call("getChunks", { wanted: [] })).rejects.toMatchObject({ kind: "Invalid" });
    const second = connection.call("hello", { protocol: PROTOCOL_VERSION, software: "test" });
    await expect(second).rejects.toMatchObject({ kind: "Invalid" });
  });

  test("[limit colleagueConnections] [W198] is one of 64: the next takes the place of another", async () => {
    const closed = Promise.withResolvers<number>();
    for (let count = 0; count <= LIMITS.colleagueConnections; count++) {
      const link = await dialed(given(desk), given(laptop));
      link.listen({ message: () => undefined, closed: (code) => closed.resolve(code) });
    }
    expect(await closed.promise).toBe(4005);
  });

  test("[limit deviceColleagueConnections] [W198] has eight connections once it has shown tickets: the oldest goes", async () => {
    const ticket = await ticketOf(given(desk));
    const connections: Awaited<ReturnType<typeof greeted>>[] = [];
    for (let count = 0; count <= LIMITS.deviceColleagueConnections; count++) {
      const one = await greeted(given(desk), given(laptop));
      expect(await one.ask(ticket)).toBeGreaterThan(0);
      connections.push(one);
    }
    const [oldest, ...others] = connections;
    await expect(oldest?.ask(ticket)).rejects.toThrow();
    for (const { ask } of others) expect(await ask(ticket)).toBeGreaterThan(0);
  });

  test("[W198] is not taken for the colleague that is meant", async () => {
    const outsider = await office.seat("outsider");
    await given(desk).device.key();
    const dialer = given(desk).device.dialerFor(textOf(await outsider.device.key()));
    await expect(dialer.dial(`wss://127.0.0.1:${given(laptop).port}/`)).rejects.toMatchObject({ kind: "Denied" });
  });
});

/** Says whether anybody takes connections at a port of this machine. */
async function isListening(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: "127.0.0.1" });
  socket.once("connect", () => resolve(true));
  socket.once("error", () => resolve(false));
  const answer = await promise;
  socket.destroy();
  return answer;
}
