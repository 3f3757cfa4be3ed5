// hello, attach, name operations, feed and resume, as a client sees them.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  EMPTY_RECIPE,
  LIMITS,
  REQUESTS,
  ROOT_NODE,
  RunnelError,
  TIMING,
  VOLUME_REQUEST_NAMES,
  sleep,
  checkResult,
} from "@runnel/shared";
import { TERM_MS } from "../volume/volume-rig.ts";
import { type Client, LINE, ServerRig, instanceOf, kindOf } from "./server-rig.ts";

let wire: ServerRig;

beforeEach(async () => {
  wire = await ServerRig.open();
});

afterEach(async () => {
  await wire.close();
});

const ONE = instanceOf("1");
const TWO = instanceOf("2");
const RANGES = [{ offset: 0, length: 9 }];

describe("a connection", () => {
  test("[W11] begins with hello; another protocol is refused with the number that is needed", async () => {
    const client = wire.connect();
    expect(await kindOf(client.call("attach", { volume: "docs", instance: ONE, wantsNodes: true }))).toBe("Invalid");
    const refusal = await client.call("hello", { protocol: 2, software: "future" }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: "Version", detail: { need: 1 } });
    expect(await client.call("hello", { protocol: 1, software: "now" })).toMatchObject({
      protocol: 1,
      software: "test server",
    });
  });

  test("[W11] does not take a longer name of the software, one with characters that nobody sees, nor an operation that is none", async () => {
    const client = wire.connect();
    expect(await kindOf(client.call("hello", { protocol: 1, software: "x".repeat(201) }))).toBe("Invalid");
    for (const unseen of ["\u202e", "\u200b", "\n", "\u001b"])
      expect(await kindOf(client.call("hello", { protocol: 1, software: `ada${unseen}laptop` }))).toBe("Invalid");
    expect(await kindOf(client.call("constructor", {}))).toBe("Unsupported");
    expect(client.closed).toBeUndefined();
  });
});

describe("an attachment", () => {
  test("[W12] tells epoch, seq, root and a range of ids; a volume that is not there is NotFound", async () => {
    const client = await wire.greeted();
    const { facts } = await client.attach(ONE);
    const { epoch, seq } = wire.rig.volume;
    expect(facts).toMatchObject({
      epoch,
      seq,
      root: { node: ROOT_NODE, type: "folder" },
      isResumed: false,
      isReadOnly: false,
      termMs: TERM_MS,
    });
    const second = await client.attach(TWO);
    expect(second.facts.nodes?.[0]).toBe((facts.nodes?.[0] ?? 0) + (facts.nodes?.[1] ?? 0));
    const channel = client.connection.open("attach", { volume: "other", instance: ONE, wantsNodes: false });
    expect(await kindOf(wire.rig.run(channel.next()))).toBe("NotFound");
  });

  test("[W110] ends with Unavailable when the folder goes, is answered so from then on, and so is every attach", async () => {
    const client = await wire.greeted();
    const attached = await client.attach(ONE);
    const away = new RunnelError("Unavailable", "attach", "The server cannot serve docs now: why not.");
    wire.end(away);
    for (const name of VOLUME_REQUEST_NAMES.filter((each) => each !== "detach")) {
      const sample = REQUESTS[name].sample({ file: { node: 2, seq: 2 }, folder: 3, newNode: attached.newNode() });
      const request = client.connection.ask(name, attached.numbered(sample));
      expect([name, await kindOf(wire.rig.run(request.result()))]).toEqual([name, "Unavailable"]);
    }
    expect(attached.ended).toMatchObject({ kind: "Unavailable", message: away.message });
    const channel = client.connection.open("attach", { volume: "docs", instance: ONE, wantsNodes: false });
    await expect(wire.rig.run(channel.next())).rejects.toMatchObject({ kind: "Unavailable", message: away.message });
  });

  test("[W12] is told nothing before its answer, but then all that there is to tell meanwhile, in order", async () => {
    const client = await wire.greeted();
    const { volume } = wire.rig;
    const allocate = volume.meta.allocateNodes.bind(volume.meta);
    // While the answer is being made.
    volume.meta.allocateNodes = async (count) => {
      volume.feed.lack(ONE, { node: 5, seq: 3 }, RANGES);
      volume.feed.lack(ONE, { node: 5, seq: 4 }, RANGES);
      return allocate(count);
    };
    const channel = client.connection.open("attach", { volume: "docs", instance: ONE, wantsNodes: true });
    expect(await wire.rig.run(channel.next())).toMatchObject({ epoch: volume.epoch });
    expect(await wire.rig.run(channel.next())).toEqual(["lack", [5, 3], [[0, 9]]]);
    expect(await wire.rig.run(channel.next())).toEqual(["lack", [5, 4], [[0, 9]]]);
  });

  test("[W130] is used right behind attach, and that right behind hello: all in one flight", async () => {
    const { connection } = wire.connect();
    const { clock, volume } = wire.rig;
    const setAttached = volume.meta.setAttached.bind(volume.meta);
    // The disk takes its time.
    volume.meta.setAttached = (...fact) => sleep(clock, 10).then(() => setAttached(...fact));
    const startMs = clock.bootMs();
    const hello = connection.call("hello", { protocol: 1, software: "test client" });
    const channel = connection.open("attach", { volume: "docs", instance: ONE, wantsNodes: true });
    const find = connection.ask("find", { attachment: channel.id, folder: ROOT_NODE, isDeep: true, follow: true });
    const said: string[] = [];
    const [, facts] = await wire.rig.run(
      Promise.all([
        hello.then(() => said.push("hello")),
        channel.next().finally(() => said.push("attach")),
        find.next().finally(() => said.push("find")),
      ]),
    );
    expect(facts).toMatchObject({ epoch: volume.epoch });
    expect(said).toEqual(["hello", "attach", "find"]);
    expect(clock.bootMs() - startMs).toBe(2 * LINE.delayMs + 10);
  });

  test("[W130] that is refused refuses what was asked of it in the same flight", async () => {
    const { connection } = await wire.greeted();
    const channel = connection.open("attach", { volume: "other", instance: ONE, wantsNodes: true });
    const space = connection.call("space", { attachment: channel.id });
    expect(await kindOf(wire.rig.run(channel.next()))).toBe("NotFound");
    expect(await kindOf(wire.rig.run(space))).toBe("Invalid");
    const { meta } = wire.rig.volume;
    meta.setAttached = async () => {
      await sleep(wire.rig.clock, 10);
      throw new RunnelError("NoSpace", "attach", "The disk is full.");
    };
    const full = connection.open("attach", { volume: "docs", instance: ONE, wantsNodes: true });
    const late = connection.call("space", { attachment: full.id });
    expect(await kindOf(wire.rig.run(full.next()))).toBe("NoSpace");
    expect(await kindOf(wire.rig.run(late))).toBe("NoSpace");
    expect(wire.rig.volume.feed.attachments).toBe(0);
  });

  test("[W19] is waited for after a restart, also when it attached again just when its last connection was forgotten", async () => {
    const { rig } = wire;
    const first = await wire.greeted();
    await first.attach(ONE);
    first.link.cut();
    await rig.clock.advance(100);
    const { meta } = rig.volume;
    const setAttached = meta.setAttached.bind(meta);
    // Instances that are gone are forgotten once a term: here while the disk takes its time.
    meta.setAttached = async (instance, termMs) => {
      const done = setAttached(instance, termMs);
      if (termMs > 0) await rig.clock.advance(TERM_MS + 10);
      return done;
    };
    await (await wire.greeted()).attach(ONE);
    await rig.clock.advance(100);
    expect(rig.volume.feed.attachments).toBe(1);
    expect(await meta.attached()).toMatchObject([{ instance: ONE }]);
  });

  test("[W12] is needed for requests, by its channel's id, and only on its own connection", async () => {
    const client = await wire.greeted();
    const attached = await client.attach(ONE);
    const other = await wire.greeted();
    expect(await kindOf(other.call("space", { attachment: attached.channel.id }))).toBe("Invalid");
    expect(await kindOf(client.call("space", { attachment: attached.channel.id + 2 }))).toBe("Invalid");
    expect(await attached.call("space", {})).toMatchObject({ totalFiles: expect.any(Number) });
  });

  test("[W12] [limit attachments] is one of at most 64, also when they are asked for at once", async () => {
    const client = await wire.greeted();
    const channels = Array.from({ length: LIMITS.attachments + 3 }, (_, index) => {
      return client.connection.open("attach", {
        volume: "docs",
        instance: index.toString(16).padStart(32, "0"),
        wantsNodes: false,
      });
    });
    const kinds = await Promise.all(channels.map((channel) => kindOf(wire.rig.run(channel.next()))));
    expect(kinds.filter((kind) => kind === "Busy")).toHaveLength(3);
    expect(kinds.filter((kind) => kind === "done")).toHaveLength(LIMITS.attachments);
  });

  test("[W12] [limit deviceAttachments] is one of at most 256 of all connections of its device", async () => {
    const attach = async (client: Client, index: number): Promise<string> => {
      const instance = index.toString(16).padStart(32, "0");
      const channel = client.connection.open("attach", { volume: "docs", instance, wantsNodes: false });
      return kindOf(wire.rig.run(channel.next()));
    };
    const clients: Client[] = [];
    for (let count = 0; count < 6; count++) clients.push(await wire.greeted());
    const all = clients.flatMap((client, at) =>
      Array.from({ length: 50 }, (_, index) => attach(client, 50 * at + index)),
    );
    const kinds = await Promise.all(all);
    expect(kinds.filter((kind) => kind === "done")).toHaveLength(LIMITS.deviceAttachments);
    expect(kinds.filter((kind) => kind === "Busy")).toHaveLength(300 - LIMITS.deviceAttachments);
  });

  test("that says something impossible on its feed is gone, and nobody waits for it", async () => {
    const client = await wire.greeted();
    const one = await client.attach(ONE, {});
    await one.find({ isDeep: true, follow: true });
    await one.renew();
    one.channel.send(["ack", "everything"]);
    await wire.rig.clock.advance(50);
    expect(await kindOf(one.call("space", {}))).toBe("Invalid");
    expect(wire.rig.volume.feed.attachments).toBe(0);
  });
});

describe("changes", () => {
  test("[W24] [W25] of names do what they say and answer with node and seq", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const folder = await one.make(ROOT_NODE, "d", "folder");
    const file = await one.make(folder, "a");
    await one.change("link", { node: file, folder: ROOT_NODE, name: "b" });
    await one.change("rename", { folder, name: "a", node: file, toFolder: folder, toName: "c", how: "keep" });
    await one.change("setAttr", { node: file, change: { mode: 0o600 } });
    const link = await one.make(ROOT_NODE, "points", "symlink", "d/c");
    await one.change("remove", { folder: ROOT_NODE, name: "b", node: file, isFolder: false });
    const [items] = await one.find({ isDeep: true });
    expect(items?.[3].map(([name]) => name)).toEqual(["d", "points"]);
    const stat = (await one.call("stat", {
      nodes: [file, link, 12_345],
      names: [
        [folder, "c"],
        [folder, "a"],
      ],
    })) as { nodes: unknown[]; names: unknown[] };
    expect(stat.nodes).toEqual([expect.arrayContaining([file, 0o600]), expect.arrayContaining([link, "d/c"]), null]);
    expect(stat.names).toEqual([expect.arrayContaining([file]), null]);
  });

  test("[W25] happened when the client says: the ctime of what they touch, the times of folders whose names they change", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const timeNs = 1_234_567_890_123_456_789n;
    const node = one.newNode();
    await one.change("make", { timeNs, folder: ROOT_NODE, name: "a", node, attributes: one.attributes("file") });
    const mtimeNs = 1_600_000_000_000_000_000n;
    const times = async (): Promise<bigint[][]> => {
      const { nodes } = checkResult("stat", await one.call("stat", { nodes: [node, ROOT_NODE], names: [] }));
      return nodes.map((state) => [state?.mtimeNs ?? 0n, state?.ctimeNs ?? 0n]);
    };
    expect(await times()).toEqual([
      [mtimeNs, timeNs],
      [timeNs, timeNs],
    ]);
    const upload = one.openWrite({ node, base: 0, sizeBytes: 0, timeNs: timeNs + 5n, attributes: { mtimeNs } });
    await upload.finish(EMPTY_RECIPE);
    expect(await times()).toEqual([
      [mtimeNs, timeNs + 5n],
      [timeNs, timeNs],
    ]);
    await one.change("setAttr", { node, timeNs: timeNs + 7n, change: { mtimeNs: null } });
    expect((await times())[0]).toEqual([timeNs + 7n, timeNs + 7n]);
    const refusal = await one.change("setAttr", { node, change: { mtimeNs: null } }).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ kind: "Invalid", detail: { rule: "W25" } });
    await one.change("setAttr", { node, change: { mode: 0o600 } });
    expect((await times())[0]?.[1]).toBeGreaterThan(timeNs + 7n);
  });

  test("[W151] that are empty set the ctime alone, whatever came before", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    await one.change("setAttr", { node, change: { mode: 0o600, uid: 7 } });
    await wire.rig.settle();
    const before = await wire.rig.volume.meta.node(node);
    const timeNs = (before?.ctimeNs ?? 0n) + 5_000_000_000n;
    await one.change("setAttr", { node, timeNs, change: {} });
    await wire.rig.settle();
    const after = await wire.rig.volume.meta.node(node);
    expect(after).toEqual({ ...before, ctimeNs: timeNs, seq: (before?.seq ?? 0) + 1 });
    expect(await wire.rig.other.stat("a")).toMatchObject({ mode: 0o600, mtimeNs: after?.mtimeNs });
  });

  test("[W44] [limit xattrNameBytes] [limit xattrValueBytes] of extended attributes are in the state by their seq, and read by one call", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    const set = (name: string, value: Uint8Array | null): Promise<unknown> =>
      one.change("setAttr", { node, change: { xattr: [name, value] } });
    const read = async (): Promise<unknown> => checkResult("xattrs", await one.call("xattrs", { node }));
    expect(await read()).toEqual({ seq: 0, xattrs: [] });
    await set("user.b", new Uint8Array(LIMITS.xattrValueBytes));
    await set("user.a", Uint8Array.of(1, 2));
    const { nodes } = checkResult("stat", await one.call("stat", { nodes: [node], names: [] }));
    expect(nodes[0]?.xattrSeq).toBe(nodes[0]?.seq);
    const found = (await read()) as { seq: number; xattrs: [string, Uint8Array][] };
    expect(found.seq).toBe(nodes[0]?.seq);
    expect(found.xattrs.map(([name, value]) => [name, value.length])).toEqual([
      ["user.a", 2],
      ["user.b", LIMITS.xattrValueBytes],
    ]);
    await set("user.a", null);
    await set("user.b", null);
    expect(checkResult("stat", await one.call("stat", { nodes: [node], names: [] })).nodes[0]?.xattrSeq).toBe(
      undefined,
    );
    await set(`user.${"n".repeat(LIMITS.xattrNameBytes - 5)}`, Uint8Array.of(1));
    for (const name of ["user.", "trusted.a", `user.${"n".repeat(LIMITS.xattrNameBytes - 4)}`, "a"])
      expect(await kindOf(set(name, Uint8Array.of(1)))).toBe("Invalid");
    expect(await kindOf(set("user.a", new Uint8Array(LIMITS.xattrValueBytes + 1)))).toBe("Invalid");
    expect(await kindOf(one.call("xattrs", { node: 12_345 }))).toBe("NotFound");
  });

  test("[W24] are executed once: a repetition gets the same answer, another request by the number is refused", async () => {
    const client = await wire.greeted();
    const one = await client.attach(ONE);
    const node = one.newNode();
    const make = { folder: ROOT_NODE, name: "a", node, attributes: one.attributes("file") };
    const result = await one.change("make", make, 1);
    expect(await one.change("make", make, 1)).toEqual(result);
    client.link.cut();
    const again = await (await wire.greeted()).attach(ONE);
    expect(await again.change("make", make, 1)).toEqual(result);
    expect(await kindOf(again.change("make", { ...make, name: "b" }, 1))).toBe("Invalid");
  });

  test("[W24] [limit outstandingOperations] results are kept for at most 4096 operations, and forgotten once reported received", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    const set = (n: number, received: number): Promise<unknown> =>
      one.rig.volume.meta
        .result(ONE, n)
        .then(() => one.change("setAttr", { node, change: { mode: 0o600 + (n % 8) }, received }, n));
    for (let n = 2; n <= LIMITS.outstandingOperations; n++)
      await one.rig.volume.commit(
        { op: "setAttr", node, change: { mode: 0o600 } },
        { instance: ONE, n, digest: new Uint8Array(32) },
        undefined,
      );
    expect(await kindOf(set(5_000, 0))).toBe("Busy");
    await set(5_000, 1_001).catch(() => undefined);
    await wire.rig.clock.advance(100);
    expect(await kindOf(set(5_001, 1_001))).toBe("done");
    expect(await one.rig.volume.meta.result(ONE, 1_001)).toBeUndefined();
    expect(await one.rig.volume.meta.result(ONE, 1_002)).toBeDefined();
    const change = { mode: 0o600 };
    await one.change(
      "setAttr",
      {
        node,
        change,
        received: 4_000,
        but: [
          [1_500, 1_500],
          [1_502, 1_600],
        ],
      },
      5_002,
    );
    await wire.rig.clock.advance(100);
    const kept = [1_499, 1_500, 1_501, 1_502, 1_600, 1_601, 4_000, 4_001].map((n) =>
      one.rig.volume.meta.result(ONE, n),
    );
    expect((await Promise.all(kept)).map((result) => result !== undefined)).toEqual([
      false,
      true,
      false,
      true,
      true,
      false,
      false,
      true,
    ]);
  });

  test("[W24] results are forgotten also while the number stays that they are reported up to, and more of those below it arrive", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    const { meta } = one.rig.volume;
    for (let n = 2; n <= 600; n++) {
      const id = { instance: ONE, n, digest: new Uint8Array(32) };
      await one.rig.volume.commit({ op: "setAttr", node, change: { mode: 0o600 } }, id, undefined);
    }
    for (const [n, first, isKept] of [
      [601, 2, true],
      [602, 300, false],
    ] as const) {
      await one.change("setAttr", { node, change: { mode: 0o640 }, received: 500, but: [[first, 500]] }, n);
      await wire.rig.clock.advance(100);
      expect((await meta.result(ONE, 299)) !== undefined).toBe(isKept);
      expect(await meta.result(ONE, 300)).toBeDefined();
    }
  });

  test("are pipelined: what is sent later finds what was sent before", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const folder = one.startMake(ROOT_NODE, "d", "folder");
    const file = one.startMake(folder.node, "a");
    const upload = one.openWrite({ node: file.node, sizeBytes: 5 });
    await upload.data(Buffer.from("hello"));
    const renamed = one.start("rename", {
      folder: folder.node,
      name: "a",
      node: file.node,
      toFolder: ROOT_NODE,
      toName: "b",
      how: "replace",
    });
    const result = await upload.finish(await one.rig.executor.chunkBytes(Buffer.from("hello")));
    await wire.rig.run(Promise.all([folder.made, file.made, renamed]));
    expect(result.conflict).toBe(false);
    await wire.rig.settle();
    expect((await wire.rig.files()).get("b")).toBe("file hello");
  });

  test("[limit nameBytes] [limit symlinkBytes] that names break no rule: each fault is BadName, and nothing changes", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const { seq } = wire.rig.volume;
    for (const name of [".", "..", "a/b", "a\0b", ".runnel-store", "é".repeat(128), "x".repeat(LIMITS.nameBytes + 1)])
      expect(await kindOf(one.make(ROOT_NODE, name))).toBe("BadName");
    for (const target of ["é".repeat(2_048), "t".repeat(LIMITS.symlinkBytes + 1)])
      expect(await kindOf(one.make(ROOT_NODE, "link", "symlink", target))).toBe("BadName");
    expect(wire.rig.volume.seq).toBe(seq);
    await one.make(ROOT_NODE, "x".repeat(LIMITS.nameBytes));
    await one.make(ROOT_NODE, "link", "symlink", "t".repeat(LIMITS.symlinkBytes));
  });

  test("[W24] [limit notReceived] that name more than 64 spans of results as not received are refused", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    const but = Array.from({ length: LIMITS.notReceived + 1 }, (_, index) => [2 * index, 2 * index]);
    const change = { node, change: { mode: 0o600 }, received: 100 };
    expect(await kindOf(one.change("setAttr", { ...change, but }, 200))).toBe("Invalid");
    expect(await kindOf(one.change("setAttr", { ...change, but: but.slice(1) }, 200))).toBe("done");
  });

  test("[limit depth] are at most 256 folders deep", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    let folder = ROOT_NODE;
    for (let depth = 1; depth <= LIMITS.depth; depth++) folder = await wire.rig.folder(folder, "d");
    await one.make(folder, "a");
    const below = await wire.rig.folder(folder, "d");
    expect(await kindOf(one.make(below, "a"))).toBe("BadName");
  });
});

describe("the feed", () => {
  test("[W13] [W15] tells another attachment; the change is answered when that has acknowledged", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    const reader = await (await wire.greeted()).attach(TWO);
    reader.acks = false;
    await reader.find({ isDeep: true, follow: true });
    expect((await reader.renew())?.[0]).toBe("current");
    let isAnswered = false;
    const { made } = writer.startMake(ROOT_NODE, "a");
    void made.then(() => {
      isAnswered = true;
    });
    await wire.rig.clock.advance(1_000);
    const [seq] = reader.seqs;
    expect(isAnswered).toBe(false);
    // [W16]: it says for whom it waits.
    expect(writer.feed.find((item) => item[0] === "waiting")).toMatchObject([
      "waiting",
      1,
      ["test client"],
      expect.any(Number),
    ]);
    reader.channel.send(["ack", seq]);
    await wire.rig.clock.advance(50);
    expect(isAnswered).toBe(true);
  });

  test("[W15] [limit leaseTermMs] waits no longer than a term for one that does not answer, and reads do not wait at all", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    const client = await wire.greeted();
    const reader = await client.attach(TWO);
    reader.acks = false;
    await reader.find({ follow: true });
    await reader.renew();
    const { made } = writer.startMake(ROOT_NODE, "a");
    await wire.rig.clock.advance(1_000);
    expect((await writer.find({}))[0]?.[3]).toHaveLength(1);
    await wire.rig.clock.advance(TIMING.leaseTermMs);
    expect((await made).seq).toBe(wire.rig.volume.seq);
  });

  test("[W17] detach and the end of the feed give the lease up: nothing waits, and no restart does", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    for (const how of ["detach", "end"] as const) {
      const reader = await (await wire.greeted()).attach(TWO);
      reader.acks = false;
      await reader.find({ isDeep: true, follow: true });
      expect((await reader.renew())?.[0]).toBe("current");
      if (how === "detach") await reader.call("detach", {});
      else reader.channel.end();
      await wire.rig.clock.advance(50);
      const before = wire.rig.clock.bootMs();
      await writer.make(ROOT_NODE, how);
      expect(wire.rig.clock.bootMs() - before).toBeLessThan(1_000);
      expect(await wire.rig.volume.meta.attached()).toMatchObject([{ instance: ONE }]);
    }
  });

  test("[W10] [limit unfollowFolders] is closed for one that unfollows more than 1000 folders at once", async () => {
    const client = await wire.greeted();
    const reader = await client.attach(TWO);
    await reader.find({ follow: true });
    const many = Array.from({ length: LIMITS.unfollowFolders + 1 }, (_, index) => index + 2);
    reader.channel.send(["unfollow", many.slice(1)]);
    await wire.rig.clock.advance(50);
    expect(wire.rig.volume.feed.attachments).toBe(1);
    reader.channel.send(["unfollow", many]);
    await wire.rig.clock.advance(50);
    expect(reader.ended).toMatchObject({ kind: "Invalid", detail: { rule: "W10" } });
    expect(wire.rig.volume.feed.attachments).toBe(0);
    expect(client.closed).toBeUndefined();
  });

  test("[W17] [W166] a lost connection leaves the lease; one that attached again meanwhile is not harmed by the old one's end, which comes at once", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    const client = await wire.greeted();
    const reader = await client.attach(TWO);
    await reader.find({ isDeep: true, follow: true });
    await reader.renew();
    client.link.cut();
    const before = wire.rig.clock.bootMs();
    await writer.make(ROOT_NODE, "a");
    expect(wire.rig.clock.bootMs() - before).toBeGreaterThan(TERM_MS / 2);
    const old = await (await wire.greeted()).attach(TWO);
    const fresh = await (await wire.greeted()).attach(TWO);
    expect(await kindOf(wire.rig.run(old.channel.result()))).toBe("Busy");
    await wire.rig.clock.advance(50);
    expect(old.client.closed).toMatchObject({ kind: "Unreachable" });
    await fresh.find({ isDeep: true, follow: true });
    expect((await fresh.renew())?.[0]).toBe("current");
    await writer.make(ROOT_NODE, "b");
    expect(fresh.seqs).toEqual([wire.rig.volume.seq]);
  });

  test("[W61] goes on where a client stood: what it missed comes first, once, in order", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    const client = await wire.greeted();
    const reader = await client.attach(TWO);
    await reader.find({ isDeep: true, follow: true });
    await writer.make(ROOT_NODE, "a");
    const { seq, epoch } = wire.rig.volume;
    client.link.cut();
    await wire.rig.clock.advance(50);
    const folder = await writer.make(ROOT_NODE, "d", "folder");
    await writer.make(folder, "in it");
    const resumed = await (await wire.greeted()).attach(TWO, { epoch, seq, follows: "all" });
    expect(resumed.facts.isResumed).toBe(true);
    await writer.make(ROOT_NODE, "b");
    await wire.rig.clock.advance(50);
    expect(resumed.seqs).toEqual([seq + 1, seq + 2, seq + 3]);
    const some = await (await wire.greeted()).attach(instanceOf("3"), { epoch, seq, follows: [folder] });
    await wire.rig.clock.advance(50);
    expect(some.seqs).toEqual([seq + 1, seq + 2]);
  });

  test("[W61] begins anew with another epoch, with changes that are not kept any more, and from a seq that is to come", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    await writer.make(ROOT_NODE, "a");
    await writer.make(ROOT_NODE, "b");
    const { epoch, seq, meta } = wire.rig.volume;
    const isResumed = async (more: object): Promise<boolean> =>
      (await (await wire.greeted()).attach(TWO, { follows: "all", ...more })).facts.isResumed;
    expect(await isResumed({ epoch: "0".repeat(32), seq })).toBe(false);
    expect(await isResumed({ epoch, seq: seq + 1 })).toBe(false);
    expect(await isResumed({ epoch, seq })).toBe(true);
    await meta.forgetChanges(seq);
    expect(await isResumed({ epoch, seq: seq - 1 })).toBe(false);
  });

  test("[W60] [W61] [limit feedBacklogItems] begins anew when more was missed than is sent", async () => {
    const writer = await (await wire.greeted()).attach(ONE);
    const node = await writer.make(ROOT_NODE, "a");
    const { epoch, seq } = wire.rig.volume;
    const commit = (): Promise<unknown> =>
      wire.rig.volume.commit({ op: "setAttr", node, change: { mode: 0o600 } }, undefined, undefined);
    for (let done = 0; done <= LIMITS.feedBacklogItems; done += 256) {
      await Promise.all(Array.from({ length: Math.min(256, LIMITS.feedBacklogItems + 1 - done) }, commit));
    }
    expect(wire.rig.volume.seq).toBe(seq + LIMITS.feedBacklogItems + 1);
    const resumed = await (await wire.greeted()).attach(TWO, { epoch, seq, follows: "all" });
    expect(resumed.facts.isResumed).toBe(false);
    const nearly = await (await wire.greeted()).attach(TWO, { epoch, seq: seq + 1, follows: "all" });
    expect(nearly.facts.isResumed).toBe(true);
  });

  test("[W19] holds answers back after a restart until those attached before have resumed, or for a term", async () => {
    const client = await wire.greeted();
    const reader = await client.attach(TWO);
    await reader.find({ isDeep: true, follow: true });
    const { epoch, seq } = wire.rig.volume;
    await wire.rig.kill();
    await wire.rig.open();
    const writer = await (await wire.greeted()).attach(ONE);
    let isAnswered = false;
    void writer.startMake(ROOT_NODE, "a").made.then(() => {
      isAnswered = true;
    });
    await wire.rig.clock.advance(2_000);
    expect(isAnswered).toBe(false);
    const resumed = await (await wire.greeted()).attach(TWO, { epoch, seq, follows: "all" });
    await resumed.renew();
    await wire.rig.clock.advance(100);
    expect(isAnswered).toBe(true);
    await wire.rig.kill();
    await wire.rig.open();
    const again = await (await wire.greeted()).attach(ONE);
    again.n = writer.n;
    const before = wire.rig.clock.bootMs();
    await again.make(ROOT_NODE, "b");
    expect(wire.rig.clock.bootMs() - before).toBeGreaterThan(TERM_MS / 2);
  });

  test("[W61] of long names and targets is cut into messages that fit", async () => {
    const client = await wire.greeted();
    const writer = await client.attach(ONE);
    const { epoch, seq } = wire.rig.volume;
    const target = "t".repeat(LIMITS.symlinkBytes);
    for (let index = 0; index < 400; index++)
      await wire.rig.make(ROOT_NODE, `${index}`.padStart(LIMITS.nameBytes, "n"), { type: "symlink", target });
    const resumed = await (await wire.greeted()).attach(TWO, { epoch, seq, follows: "all" });
    await wire.rig.clock.advance(200);
    expect(resumed.seqs).toHaveLength(400);
    // [W40]: a listing of them as well.
    const pages = await writer.find({});
    expect(pages.flatMap((page) => page[3])).toHaveLength(400);
    expect(pages.map((page) => page[2])).toEqual([...pages.slice(1).map(() => false), true]);
  });
});

describe("whenApplied", () => {
  test("ends when the plain files show the change, and refuses what is to come", async () => {
    const one = await (await wire.greeted()).attach(ONE);
    const node = await one.make(ROOT_NODE, "a");
    const { seq } = await one.write(node, 0, Buffer.from("now"));
    await one.call("whenApplied", { seq });
    expect((await wire.rig.files()).get("a")).toBe("file now");
    expect(await kindOf(one.call("whenApplied", { seq: seq + 1 }))).toBe("Invalid");
  });
});
