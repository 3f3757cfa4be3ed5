// Objects with real processes: two servers with TLS, devices with other rights, drives, and programs that use the
// command line and the client.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { askServer } from "@runnel/server/admin";
import { OBJECTS_FOLDER, UNTIL_XATTR } from "@runnel/shared";
import {
  Control,
  type Device,
  type Json,
  Sandbox,
  type ServerProcess,
  mustRun,
  run,
  LAUNCHER,
  noise,
  onMount,
  refusalOf,
  waitFor,
} from "../src/harness/index.ts";

const PROGRAM = fileURLToPath(new URL("../src/objects/program.ts", import.meta.url));
const FILE_BYTES = 3_000_000;
const inLongRun = process.env["RUNNEL_LONG"] === "1" ? test : test.skip;

jest.setTimeout(60_000);

let sandbox: Sandbox;
let one: ServerProcess;
let other: ServerProcess;
/** May change docs at the one server, and the archive at the other. */
let ada: Device;
let drive: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  const served = (name: string): Record<string, string> => ({ [name]: sandbox.makeFolder("served", name) });
  one = await sandbox.startServer({ volumes: { ...served("docs"), ...served("photos") }, listen: "0.0.0.0:0" });
  const data = sandbox.makeFolder("data-other");
  other = await sandbox.startServer({ volumes: served("archive"), listen: "0.0.0.0:0", data });
  ada = sandbox.device("ada");
  await logIn(ada, one, "data", "docs");
  await logIn(ada, other, "data-other", "archive");
  drive = sandbox.makeFolder("drive");
  await ada.mount(urlOf(one, "docs"), drive);
});

afterAll(() => sandbox.cleanup(), 60_000);

async function logIn(
  device: Device,
  to: ServerProcess,
  data: string,
  volume: string,
  isReadOnly = false,
): Promise<void> {
  const asked = { volume, isReadOnly, person: "", lastsMs: 3_600_000, address: `127.0.0.1:${to.port}` };
  await device.ask(["login", (await askServer(sandbox.path(data), "invite", asked)).invite]);
}

const urlOf = ({ port }: ServerProcess, volume: string): string => `wss://127.0.0.1:${port}/${volume}`;

function local(name: string, bytes?: Uint8Array): string {
  const path = sandbox.path(name);
  if (bytes !== undefined) writeFileSync(path, bytes);
  return path;
}

const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

async function refused(of: Device, ...args: string[]): Promise<string> {
  return refusalOf(await of.runnel([...args, "--json"])).kind;
}

/** Bytes of contents that a drive has sent and received. */
async function moved(mountpoint: string): Promise<{ sent: number; received: number }> {
  const { mounts } = (await ada.stats(mountpoint)) as unknown as {
    mounts: [{ statistics: { sent: { data: number }; received: { data: number } } }];
  };
  const [{ statistics }] = mounts;
  return { sent: statistics.sent.data, received: statistics.received.data };
}

test("what is put is a file of the volume; the same again sends nothing; who may read the volume gets it, nobody else", async () => {
  const file = local("report", noise(FILE_BYTES, 1));
  const put = await ada.ask(["put", file, "--for", "2d"]);
  const { uri, oid } = put as { uri: string; oid: string };
  expect(uri).toBe(`runnel:${oid}?size=${FILE_BYTES}&hint=${encodeURIComponent(urlOf(one, "docs"))}`);
  const plain = sandbox.path("served", "docs", OBJECTS_FOLDER, oid);
  await waitFor(() => existsSync(plain) && statSync(plain).size === FILE_BYTES, 10_000, "the plain file");
  expect(digest(plain)).toBe(digest(file));
  // Programs see it on the drive.
  const asked = 'python3 -c "import os, sys; print(os.getxattr(*sys.argv[1:]).decode())" "$1/.runnel-objects/$2" "$3"';
  const until = await onMount(asked, [drive, oid, UNTIL_XATTR]);
  expect(Number(until) * 1000).toBe(put["untilMs"]);
  expect(await onMount('sha256sum < "$1/.runnel-objects/$2"', [drive, oid])).toContain(digest(file));

  const before = await moved(drive);
  expect(await ada.ask(["put", file, "--for", "1d"])).toMatchObject({ uri, wasThere: true, untilMs: put["untilMs"] });
  expect(await moved(drive)).toEqual(before);

  // It comes once: the second time it is here.
  await ada.ask(["get", uri, local("first")]);
  const { received } = await moved(drive);
  await ada.ask(["get", uri, local("second")]);
  expect((await moved(drive)).received).toBe(received);
  expect(digest(local("second"))).toBe(digest(file));

  // No drive: the server of the hint is asked.
  const ben = sandbox.device("ben");
  await logIn(ben, one, "data", "docs", true);
  await ben.ask(["get", uri, local("got")]);
  expect(digest(local("got"))).toBe(digest(file));
  const toStdout = 'cd /; "$@" | sha256sum';
  const piped = await run("bash", ["-c", toStdout, "bash", process.execPath, LAUNCHER, "get", uri], { env: ben.env });
  expect(piped.stdout).toContain(digest(file));
  expect(await refused(ben, "put", file, "--to", urlOf(one, "docs"))).toBe("ReadOnly");

  const eve = sandbox.device("eve");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("Denied");
  await logIn(eve, one, "data", "photos");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("NotFound");
  expect(existsSync(local("stolen"))).toBe(false);
});

/** Puts a file in both ways, and has it got by a new device of that name; returns how it is got by further ones. */
async function putBothWays(name: string): Promise<{ file: string; fixed: string; gotBy(name: string): Promise<void> }> {
  const file = local("archive.bin", noise(FILE_BYTES, 20));
  const archive = urlOf(other, "archive");
  const puts = [await ada.ask(["put", file, "--to", archive])];
  puts.push(await ada.ask(["put", file, "--to", archive, "--chunks", "fixed"]));
  const [content, fixed] = puts as { uri: string; oid: string }[];
  expect(fixed?.oid).not.toBe(content?.oid);
  const gotBy = async (by: string): Promise<void> => {
    const device = sandbox.device(by);
    await logIn(device, other, "data-other", "archive", true);
    for (const [index, { uri }] of [content, fixed].map((each) => each as { uri: string }).entries()) {
      const got = local(`${by}-${index}`);
      await device.ask(["get", uri, got]);
      expect(digest(got)).toBe(digest(file));
    }
  };
  await gotBy(name);
  return { file, fixed: fixed?.uri ?? "", gotBy };
}

inLongRun(
  "[W211] what is put in fixed chunks is another object than the same otherwise, and both are got",
  async () => {
    await putBothWays("ida");
  },
);

inLongRun("[W211] objects in fixed chunks are got also from a new index", async () => {
  const { file, fixed, gotBy } = await putBothWays("ira");
  await other.stop();
  const meta = sandbox.path("data-other", "archive", "meta");
  for (const name of readdirSync(meta)) rmSync(join(meta, name));
  other = await sandbox.startServer({
    volumes: { archive: sandbox.path("served", "archive") },
    listen: `0.0.0.0:${other.port}`,
    data: sandbox.path("data-other"),
    // It has forgotten who has a lease, and waits until nobody can have one.
    leaseTerm: 1,
  });
  await gotBy("uma");
  const again = await ada.ask(["put", file, "--to", urlOf(other, "archive"), "--chunks", "fixed"]);
  expect(again).toMatchObject({ uri: fixed, wasThere: true });
});

async function program(...args: string[]): Promise<Json> {
  const options = { env: ada.env, deadlineMs: 50_000 };
  const { stdout } = await mustRun(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", PROGRAM, ...args],
    options,
  );
  return JSON.parse(stdout) as Json;
}

inLongRun("a program gets into a file, and copies a folder there and back; it is told how far that is", async () => {
  const folder = sandbox.makeFolder("program");
  mkdirSync(join(folder, "tree", "within"), { recursive: true });
  writeFileSync(join(folder, "tree", "a"), noise(200_000, 21));
  writeFileSync(join(folder, "tree", "within", "b"), noise(1000, 22));
  const size = 5_000_000;
  const { uri, oid } = (await ada.ask(["put", local("to-file", noise(size, 23))])) as { uri: string; oid: string };
  const volume = urlOf(other, "archive");
  const told = await program("files", uri, folder, volume);
  expect(told).toMatchObject({
    got: { oid, size, volume: urlOf(one, "docs") },
    copied: { files: 2, folders: 2, bytes: 201_000, skipped: [] },
    back: { files: 2, folders: 2, bytes: 201_000, skipped: [] },
    kinds: ["Interrupted", "Interrupted", "IsFolder", "NotFound"],
  });
  expect(told["done"]).toEqual([4 * 1024 * 1024, size]);
  expect(told["progress"]).toEqual([
    { files: 0, bytes: 0, path: join(folder, "tree") },
    { files: 0, bytes: 0, path: join(folder, "tree", "a") },
    { files: 1, bytes: 200_000, path: join(folder, "tree", "within") },
    { files: 1, bytes: 200_000, path: join(folder, "tree", "within", "b") },
  ]);
  expect(told["fixed"]).not.toBe(oid);
  for (const name of ["got", "fixed"]) expect(digest(join(folder, name))).toBe(digest(local("to-file")));
  expect(statSync(join(folder, "got")).mode & 0o777).toBe(0o640);
  for (const name of ["a", "within/b"])
    expect(digest(join(folder, "back", name))).toBe(digest(join(folder, "tree", name)));
  expect(existsSync(join(folder, "never"))).toBe(false);
});

test("what comes by a pipe is put, and is nowhere else afterwards; a pipe that brings nothing is the empty object", async () => {
  const bytes = noise(300_000, 24);
  const pipe = async (input: Uint8Array): Promise<string> => {
    const args = [LAUNCHER, "put", "-", "--to", drive, "--chunks", "fixed"];
    return (await mustRun(process.execPath, args, { env: ada.env, input })).stdout.trim();
  };
  const uri = await pipe(bytes);
  await ada.ask(["get", uri, local("piped")]);
  expect(Buffer.compare(readFileSync(local("piped")), bytes)).toBe(0);
  expect(await ada.ask(["put", local("piped"), "--chunks", "fixed"])).toMatchObject({ uri, wasThere: true });
  // An edit in place costs one fixed chunk.
  bytes[100_000] = (bytes[100_000] ?? 0) ^ 1;
  const before = await moved(drive);
  const edited = await pipe(bytes);
  const sent = (await moved(drive)).sent - before.sent;
  expect(Math.abs(sent - 65_536)).toBeLessThan(1000);
  expect(edited).not.toBe(uri);
  await ada.ask(["get", await pipe(new Uint8Array()), local("piped-nothing")]);
  expect(statSync(local("piped-nothing")).size).toBe(0);
  expect(readdirSync(join(ada.home, "spool"))).toEqual([]);
});

inLongRun("a copy from one volume of a server to another, and of an object, is the same file", async () => {
  await logIn(ada, one, "data", "photos");
  const photos = urlOf(one, "photos");
  const file = local("between", noise(FILE_BYTES, 25));
  const { oid } = (await ada.ask(["put", file, "--chunks", "fixed"])) as { oid: string };
  expect(await ada.ask(["cp", `${urlOf(one, "docs")}/.runnel-objects/${oid}`, `${photos}/copy`])).toMatchObject({
    files: 1,
    bytes: FILE_BYTES,
  });
  const plain = sandbox.path("served", "photos", "copy");
  await waitFor(() => existsSync(plain) && statSync(plain).size === FILE_BYTES, 10_000, "the plain file");
  expect(digest(plain)).toBe(digest(file));
  await ada.ask(["cp", `${photos}/copy`, `${drive}/between`]);
  expect(await onMount('sha256sum < "$1/between"', [drive])).toContain(digest(file));
  // A copy that was cut otherwise than new files are can be edited, and is an object of its own when it is put.
  await onMount('printf edited | dd of="$1/between" bs=1 seek=1000000 conv=notrunc status=none', [drive]);
  await ada.flush(drive, { up: true });
  const edited = Buffer.from(readFileSync(file));
  edited.write("edited", 1_000_000);
  expect(digest(sandbox.path("served", "docs", "between"))).toBe(createHash("sha256").update(edited).digest("hex"));
  const asFile = await ada.ask(["put", local("edited", edited)]);
  expect(await ada.ask(["put", `${drive}/between`])).toMatchObject({ uri: asFile["uri"], wasThere: true });
});

test("a program puts a stream and gets it in order and out of order; what it ends is ended, and nothing is left", async () => {
  const size = 12 * 1024 * 1024;
  const done = await program("there", "12");
  expect(done).toMatchObject({ size, putDone: size, getDone: size, isSame: true });
  const kinds = ["Interrupted", "Interrupted", "Interrupted"];
  expect(await program("interrupted", done["uri"] as string)).toEqual({ kinds, bytes: size });
  expect(readdirSync(join(ada.home, "spool"))).toEqual([]);
});

inLongRun(
  "a copy to another server takes only what that lacks; back to a file, and within a volume, nothing moves twice",
  async () => {
    const archived = Buffer.from(noise(FILE_BYTES, 2));
    const edited = Buffer.concat([archived.subarray(0, 1_000_000), Buffer.from("new"), archived.subarray(1_000_000)]);
    mkdirSync(sandbox.path("served", "docs", "plans"), { recursive: true });
    writeFileSync(sandbox.path("served", "docs", "plans", "edited"), edited);
    await onMount('until [ -s "$1/plans/edited" ]; do sleep 0.1; done', [drive]);
    const archive = sandbox.makeFolder("archive");
    await ada.mount(urlOf(other, "archive"), archive);
    await ada.ask(["cp", local("archived", archived), `${archive}/old`]);
    const before = [await moved(drive), await moved(archive)];
    expect(await ada.ask(["cp", "-r", `${drive}/plans`, `${urlOf(other, "archive")}/plans`])).toMatchObject({
      files: 1,
      folders: 1,
      bytes: edited.length,
      skipped: [],
    });
    expect(await onMount('sha256sum < "$1/plans/edited"', [archive])).toContain(
      createHash("sha256").update(edited).digest("hex"),
    );
    const after = [await moved(drive), await moved(archive)];
    // The chunk of the edit, or some around it: of the source they are fetched, to the target they are sent.
    expect((after[0]?.received ?? 0) - (before[0]?.received ?? 0)).toBeLessThan(300_000);
    expect((after[1]?.sent ?? 0) - (before[1]?.sent ?? 0)).toBeLessThan(300_000);

    await ada.ask(["cp", `${archive}/plans/edited`, `${archive}/again`]);
    expect((await moved(archive)).sent).toBe(after[1]?.sent);
    await ada.ask(["cp", `${archive}/again`, local("back")]);
    expect(Buffer.compare(readFileSync(local("back")), edited)).toBe(0);
    expect(await refused(ada, "cp", `${drive}/plans`, `${drive}/plans`)).toBe("IsFolder");
    expect(await refused(ada, "cp", "-r", drive, `${drive}/plans`)).toBe("Invalid");
    expect(await refused(ada, "cp", `${drive}/nothing`, local("x"))).toBe("NotFound");
  },
);

inLongRun(
  "a put goes on after its line broke, and sends little twice; one that is ended in the middle leaves nothing",
  async () => {
    const link = await sandbox.startEmulator(one.port, { upBitsPerSecond: 24e6, downBitsPerSecond: 24e6, rttMs: 20 });
    const zoe = sandbox.device("zoe");
    const asked = {
      volume: "docs",
      isReadOnly: false,
      person: "",
      lastsMs: 3_600_000,
      address: `127.0.0.1:${link.port}`,
    };
    await zoe.ask(["login", (await askServer(sandbox.path("data"), "invite", asked)).invite]);
    const to = `wss://127.0.0.1:${link.port}/docs`;
    const agent = await Control.of(zoe);
    try {
      const halfOf = (bytes: number): Promise<unknown> =>
        waitFor(async () => (await link.counts()).up.deliveredBytes > bytes / 2, 20_000, "half of the put");
      // The volume is open from here on.
      await agent.ask({ verb: "put", file: local("tiny", noise(1000, 10)), to });
      await link.resetCounts();
      // Another device has put this already: its recipe comes here, no byte of it goes there.
      const theirs = local("theirs", noise(FILE_BYTES, 13));
      await ada.ask(["put", theirs, "--to", drive]);
      expect(await agent.ask({ verb: "put", file: theirs, to })).toMatchObject({ wasThere: true });
      expect((await link.counts()).up.sentBytes + (await link.counts()).down.sentBytes).toBeLessThan(FILE_BYTES / 50);
      await link.resetCounts();
      const file = local("long", noise(2 * FILE_BYTES, 11));
      const put = agent.ask({ verb: "put", file, to });
      put.catch(() => undefined);
      await halfOf(2 * FILE_BYTES);
      await link.cut("accept");
      const { oid } = (await put) as { oid: string };
      expect((await link.counts()).up.sentBytes).toBeLessThan(2 * FILE_BYTES + 2_500_000);
      await waitFor(() => existsSync(sandbox.path("served", "docs", OBJECTS_FOLDER, oid)), 10_000, "the plain file");

      const { rows } = (await zoe.ask(["savings", "--by", "drive"])) as { rows: Json[] };
      expect(rows).toMatchObject([{ url: to, mountpoint: "", savings: { writtenBytes: 1000 + 2 * FILE_BYTES } }]);

      const names = async (): Promise<string> => JSON.stringify(await zoe.ask(["find", to, "-type", "f"]));
      const before = await names();
      // Bytes are read once the name is there: it is ended in the middle of them.
      await agent.firstPart({ verb: "put", file: local("ended", noise(2 * FILE_BYTES, 12)), to });
      await waitFor(async () => (await names()) === before, 10_000, "the name to go");
    } finally {
      agent.close();
    }
  },
);

/** A request of the control protocol, and the kind of error that it is refused with. */
type Wrong = [request: Json, kind: string];

test("what is wrong is refused by name, and leaves nothing: URIs, files, places, and other bytes under an OID", async () => {
  const agent = await Control.of(ada);
  try {
    const file = local("small", noise(50_000, 3));
    const put = { verb: "put", file, to: drive };
    const { uri, oid } = (await agent.ask(put)) as { uri: string; oid: string };
    const get = { verb: "get", uri, file: local("wrong") };
    const copy = { verb: "copy", from: file, to: local("wrong") };
    const wrong: Wrong[] = [
      [{ ...get, uri: uri.replace("size=", "size=1") }, "Invalid"],
      [{ ...get, uri: `${uri}&other=1` }, "Invalid"],
      [{ ...get, uri: "x".repeat(10_000) }, "Invalid"],
      [{ ...get, uri: uri.replace(oid, "0".repeat(64)) }, "NotFound"],
      [{ ...get, uri: `runnel:${"0".repeat(64)}?size=1&hint=wss%3A%2F%2F127.0.0.1%3A9%2Fdocs` }, "Denied"],
      [{ ...get, file: `${drive}/wrong` }, "Invalid"],
      [{ ...get, file: sandbox.folder }, "IsFolder"],
      [{ ...get, file: "wrong" }, "Invalid"],
      [{ ...get, file: `${sandbox.folder}/nothing/wrong` }, "NotFound"],
      [{ ...get, file: 5 }, "Invalid"],
      [{ ...get, mode: 0o1000 }, "Invalid"],
      [{ ...get, isInOrder: "yes" }, "Invalid"],
      [{ ...put, file: local("nothing") }, "NotFound"],
      [{ ...put, file: sandbox.folder }, "IsFolder"],
      [{ ...put, file: `${drive}/.runnel-objects` }, "IsFolder"],
      [{ ...put, file: "small" }, "Invalid"],
      [{ ...put, file: "/dev/null" }, "Unsupported"],
      [{ ...put, file: null }, "Invalid"],
      [{ ...put, to: "wss://127.0.0.1:9/docs" }, "Denied"],
      [{ ...put, to: "https://127.0.0.1/docs" }, "Invalid"],
      [{ ...put, to: sandbox.folder }, "NotFound"],
      [{ ...put, to: 5 }, "Invalid"],
      [{ ...put, lifeMs: 0 }, "Invalid"],
      [{ ...put, lifeMs: 1e15 }, "Invalid"],
      [{ ...put, chunks: "blocks" }, "Invalid"],
      [{ ...put, chunks: 65_536 }, "Invalid"],
      [{ ...copy, from: "wss://127.0.0.1/../docs" }, "Invalid"],
      [{ ...copy, from: local("nothing") }, "NotFound"],
      [{ ...copy, from: sandbox.folder }, "IsFolder"],
      [{ ...copy, to: `${urlOf(one, "docs")}/nothing/x` }, "NotFound"],
      [{ ...copy, to: `${urlOf(one, "docs")}/%2e%2e/x` }, "Invalid"],
      [{ ...copy, to: [] }, "Invalid"],
      [{ ...copy, isRecursive: 3 }, "Invalid"],
    ];
    for (const [request, kind] of wrong)
      await expect(agent.ask(request, { deadlineMs: 10_000 })).rejects.toThrow(new RegExp(`^${kind}: \\S.*\\.`));
    expect(await refused(ada, "put", file, "--for", "never")).toBe("Invalid");
    const badWord = refusalOf(await ada.runnel(["put", file, "--chunks", "blocks", "--json"]));
    const badTime = refusalOf(await ada.runnel(["put", file, "--for", "never", "--json"]));
    expect(badWord).toMatchObject({ kind: "Invalid", code: badTime.code });
    expect(badWord.sentence).toMatch(/^Option --chunks <kind> is one of: content, fixed; not "blocks"\./);
    expect(await refused(ada, "get", uri)).toBe("Invalid");

    await onMount('head -c 50000 /dev/zero > "$1/.runnel-objects/$2"', [drive, oid]);
    await expect(agent.ask(get)).rejects.toThrow(/^Corrupt: /);
    expect(existsSync(local("wrong"))).toBe(false);
    expect(readdirSync(sandbox.folder).filter((name) => name.startsWith(".runnel-"))).toEqual([]);
    expect(await agent.ask(put)).toMatchObject({ uri, wasThere: false });
    await agent.ask({ ...get, file: local("right") });

    // Several at the same moment are one object, and no conflict.
    local("same", noise(200_000, 4));
    const atOnce = await Promise.all([1, 2, 3].map(() => agent.ask({ ...put, file: local("same") })));
    expect(new Set(atOnce.map((each) => each["uri"])).size).toBe(1);
    await agent.ask({ verb: "get", uri: atOnce[0]?.["uri"], file: local("same-got") });
    expect(digest(local("same-got"))).toBe(digest(local("same")));
    const { mounts } = (await ada.status()) as { mounts: { conflicts: unknown[]; problems: unknown[] }[] };
    for (const { conflicts, problems } of mounts)
      expect({ conflicts, problems }).toEqual({ conflicts: [], problems: [] });
    expect(digest(local("right"))).toBe(digest(file));
  } finally {
    agent.close();
  }
});
