// Lists of a running server: who is connected, who waits for whom, what moves, and that a connection can be ended.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError, concatRecipes } from "@runnel/shared";
import { SERVER } from "../../src/audit/audit-entry.ts";
import { Live } from "../../src/live/live.ts";
import { type Attached, ServerRig } from "../wire/server-rig.ts";

let server: ServerRig;
let live: Live;
let acts: string[];

beforeEach(async () => {
  server = await ServerRig.open();
  acts = [];
  const perform = async <T>({ act }: { act: string }, work: () => Promise<T>): Promise<T> => {
    acts.push(act);
    return work();
  };
  live = new Live({
    clock: server.rig.clock,
    server: { connections: server.handlers, served: { open: [server.rig.volume] } } as never,
    devices: { list: () => [] },
    audit: { perform } as never,
  });
});

async function attached(instance: string): Promise<Attached> {
  return (await server.greeted()).attach(instance.padStart(32, "0"));
}

describe("connections", () => {
  test("are those that said who they are, with what they carried and how fast since the last look", async () => {
    server.connect();
    await attached("aa");
    const [row, ...more] = live.connections();
    expect(more).toEqual([]);
    expect(row).toMatchObject({ who: "test client", volumes: ["docs"], sentPerSecond: null, requestsWaiting: 0 });
    expect(row?.receivedBytes).toBeGreaterThan(0);
    const client = await attached("bb");
    await client.make(1, "file");
    await server.rig.clock.advance(1_000);
    live.connections();
    await client.make(1, "second");
    await server.rig.clock.advance(1_000);
    const [first, second] = live.connections();
    expect(second?.receivedPerSecond).toBeGreaterThan(first?.receivedPerSecond ?? Infinity);
  });

  test("come in their order, each with a key of its own", async () => {
    for (let count = 0; count < 7; count++) await attached(`a${count}`);
    const keys = live.connections().map(({ key }) => key);
    expect(keys).toHaveLength(7);
    await live.disconnect(SERVER, keys[1] as string);
    expect(live.connections().map(({ key }) => key)).toEqual(keys.toSpliced(1, 1));
  });

  test("are ended on request, each act in the audit log, and one that is gone is not found", async () => {
    const client = await attached("aa");
    const [row] = live.connections();
    await live.disconnect(SERVER, row?.key ?? "");
    await server.rig.clock.advance(100);
    expect(client.client.closed).toBeInstanceOf(RunnelError);
    expect(live.connections()).toEqual([]);
    await expect(live.disconnect(SERVER, row?.key ?? "")).rejects.toMatchObject({ kind: "NotFound" });
    expect(acts).toEqual(["disconnect", "disconnect"]);
  });
});

describe("who waits for whom", () => {
  test("is shown while a holder has not acknowledged, with the file, and gone once it has", async () => {
    const holder = await attached("aa");
    const writer = await attached("bb");
    await holder.find({ follow: true });
    await holder.renew();
    holder.acks = false;
    const { made } = writer.startMake(1, "report.docx");
    await server.rig.clock.advance(100);
    const { rows, omitted } = await live.recalls();
    const [recall] = rows;
    expect([rows.length, omitted]).toEqual([1, 0]);
    expect(recall).toMatchObject({ volume: "docs", path: "report.docx", waiting: { device: "" } });
    expect(recall?.holders).toHaveLength(1);
    expect(recall?.lastsMs).toBeGreaterThan(50);
    const waits = live.leases().map((row) => row.waits.length);
    expect(waits).toEqual([1, 0]);
    holder.channel.send(["ack", server.rig.volume.seq]);
    await server.rig.run(made);
    expect(await live.recalls()).toEqual({ rows: [], omitted: 0 });
    expect(live.leases().map((row) => row.waits.length)).toEqual([0, 0]);
    expect(live.leases()[0]?.leaseMs).toBeGreaterThan(0);
  });

  test("leases come in the order of attaching", async () => {
    for (let count = 0; count < 5; count++) await attached(`a${count}`);
    const keys = live.leases().map(({ key }) => Number(key));
    expect(new Set(keys).size).toBe(5);
    expect(keys).toEqual(keys.toSorted((a, b) => a - b));
  });
});

describe("open files", () => {
  test("are those that clients had open lately, with their paths; of more than asked for the others are counted", async () => {
    const expected: string[] = [];
    const client = await attached("aa");
    const folder = await client.make(1, "folder", "folder");
    for (let count = 0; count < 5; count++) {
      const node = await client.make(folder, `file-${count}`);
      const { version } = await client.write(node, 0, Buffer.from("content"));
      client.channel.send(["want", [[node, version]]]);
      expected.push(`folder/file-${count}`);
    }
    await server.rig.clock.advance(50);
    const { rows, omitted } = await server.rig.run(live.openFiles(10));
    expect([rows.map(({ path }) => path), omitted]).toEqual([expected, 0]);
    expect(new Set(rows.map(({ key }) => key)).size).toBe(5);
    expect(await server.rig.run(live.openFiles(2))).toEqual({ rows: rows.slice(0, 2), omitted: 3 });
  });
});

describe("transfers", () => {
  test("show a save while it comes, and its content is counted with what crossed for it", async () => {
    const client = await attached("aa");
    const node = await client.make(1, "movie");
    const bytes = new Uint8Array(100_000).map((_byte, at) => (at * 7_919) % 251);
    const upload = client.openWrite({ node, base: 0, sizeBytes: bytes.length });
    await upload.data(bytes.subarray(0, 60_000));
    await server.rig.clock.advance(50);
    const { rows } = await server.rig.run(live.transfers(10));
    expect(await server.rig.run(live.transfers(0))).toEqual({ rows: [], omitted: 1 });
    expect(rows).toMatchObject([{ direction: "up", path: "movie", totalBytes: 100_000, doneBytes: 60_000 }]);
    expect(live.transferCount).toBe(1);
    await upload.data(bytes.subarray(60_000));
    const { executor } = server.rig;
    const cut = [bytes.subarray(0, 60_000), bytes.subarray(60_000)].map((part) => executor.chunkBytes(part));
    await upload.finish(concatRecipes(await Promise.all(cut)));
    expect(await server.rig.run(live.transfers(10))).toEqual({ rows: [], omitted: 0 });
    const { savedBytes, savedWireBytes } = server.rig.volume.traffic;
    expect(savedBytes).toBe(100_000);
    expect(savedWireBytes).toBeGreaterThan(0);
    expect(savedWireBytes).toBeLessThanOrEqual(100_000);
  });
});
