// PROTOCOL.md suffices to write a client: one in Python, made from it and the vectors alone, at work with a real server
// and a drive.
import { afterAll, beforeAll, beforeEach, expect, jest, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox, VolumeForEach, mustRun, onMount, waitFor } from "../src/harness/index.ts";

const CLIENT = fileURLToPath(new URL("../src/python-client/", import.meta.url));
const VECTORS = fileURLToPath(new URL("../../shared/vectors/", import.meta.url));
/** Another Python may come first in PATH than the system's, for which set-up installs the modules. */
const PYTHON = ["python3", "/usr/bin/python3"].find(
  (command) => spawnSync(command, ["-c", "import cbor2, websocket, zstandard"]).status === 0,
);
const FILE_BYTES = 2_000_000;
/** Time beside which all else is short, also where much else runs. */
const ROUND_TRIP_MS = 1500;

jest.setTimeout(60_000);

const TESTS = 8;

let sandbox: Sandbox;
let volumes: VolumeForEach;
/** Name of the test's volume. */
let volume: string;
let served: string;
let url: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  volumes = await VolumeForEach.serve(sandbox, TESTS, (folder) => {
    mkdirSync(join(folder, "reports/old"), { recursive: true });
    writeFileSync(join(folder, "reports/old/ü.txt"), "one\n");
    writeFileSync(join(folder, "reports/empty"), "");
    // More than the credit that a channel begins with.
    writeFileSync(join(folder, "large.bin"), randomBytes(6_000_000));
    symlinkSync("reports/empty", join(folder, "link"));
  });
});

beforeEach(() => {
  ({ name: volume, served, url } = volumes.next());
});

afterAll(() => sandbox.cleanup(), 120_000);

async function python<Answer>(program: string, ...args: string[]): Promise<Answer> {
  if (PYTHON === undefined) throw new Error("No Python with cbor2, websocket-client and zstandard: npm run setup");
  const { stdout } = await mustRun(PYTHON, ["-B", join(CLIENT, program), ...args], {
    deadlineMs: 50_000,
    env: sandbox.env,
  });
  return JSON.parse(stdout) as Answer;
}

const client = async <Answer>(command: string, ...args: string[]): Promise<Answer> =>
  python("main.py", command, url, ...args);

interface Saved {
  result: { node: number; seq: number; version: number; conflict: boolean };
  sentBytes: number;
  needed: number;
}

/** A file of the test, outside of what is served. */
function local(name: string, content?: Uint8Array): string {
  const path = sandbox.path(volume, name);
  if (content !== undefined) writeFileSync(path, content);
  return path;
}

/** The plain file shows it at once or a moment later. */
const isServed = async (path: string, content: Uint8Array): Promise<unknown> =>
  waitFor(
    () => existsSync(join(served, path)) && Buffer.compare(readFileSync(join(served, path)), content) === 0,
    10_000,
    `${path} in the served folder`,
  );

function edited(content: Buffer, at: number, inserted: string): Buffer {
  return Buffer.concat([content.subarray(0, at), Buffer.from(inserted), content.subarray(at)]);
}

test("in Python the golden vectors come out as they are: varints, CBOR and its keys, frames, recipes, digests, cuts, OIDs and their URIs", async () => {
  const compared = await python<Record<string, number>>("vectors.py", VECTORS);
  const protocol = JSON.parse(readFileSync(join(VECTORS, "protocol-1.json"), "utf8")) as Record<string, unknown[]>;
  const { cases } = JSON.parse(readFileSync(join(VECTORS, "chunks.json"), "utf8")) as { cases: unknown[] };
  const objects = JSON.parse(readFileSync(join(VECTORS, "objects.json"), "utf8")) as Record<string, unknown[]>;
  const bothWays = (name: string): number => 2 * (protocol[name]?.length ?? 0);
  expect(compared).toEqual({
    contents: cases.length,
    cuts: cases.length,
    varints: bothWays("varints"),
    cbor: bothWays("cbor"),
    states: bothWays("states"),
    frames: bothWays("frames"),
    recipes: 4,
    objects: objects["objects"]?.length,
    uris: objects["uris"]?.length,
    "refused uris": objects["refused"]?.length,
  });
});

test("a client in Python finds what is served, and fetches it, the second version for what it lacks of the first", async () => {
  const { entries } = await client<{ entries: Record<string, Record<string, unknown>> }>("find");
  expect(Object.keys(entries).toSorted()).toEqual(
    ["large.bin", "link", "reports", "reports/empty", "reports/old", "reports/old/ü.txt"].toSorted(),
  );
  expect(entries["link"]).toMatchObject({ type: 2, target: "reports/empty" });
  const told = statSync(join(served, "reports/old/ü.txt"), { bigint: true });
  expect(entries["reports/old/ü.txt"]).toMatchObject({ type: 0, size_bytes: 4, mode: Number(told.mode & 0o7777n) });
  const matching = await client<{ entries: object }>("find", "*.txt");
  expect(Object.keys(matching.entries)).toEqual(["reports/old/ü.txt"]);

  for (const path of ["large.bin", "reports/empty", "reports/old/ü.txt"]) {
    await client("fetch", path, local("out"));
    expect(digest(local("out"))).toBe(digest(join(served, path)));
  }
  const large = readFileSync(join(served, "large.bin"));
  const saved = await client<Saved>("save", "copy.bin", local("copy", edited(large, 3_000_000, "between")), "hope");
  expect(saved.needed).toBe(1);
  const fetched = await client<{ receivedBytes: number }>("fetch", "copy.bin", local("out"), "large.bin");
  expect(digest(local("out"))).toBe(digest(local("copy")));
  expect(fetched.receivedBytes).toBeLessThan(1000);
});

test("a client in Python gets what was put under a URI, and refuses other bytes under its OID", async () => {
  const device = sandbox.device();
  const file = local("put", randomBytes(FILE_BYTES));
  const both = [];
  for (const chunks of ["fixed", "content"]) {
    const put = await device.ask(["put", file, "--to", url, "--chunks", chunks]);
    const { uri, oid } = put as { uri: string; oid: string };
    const got = await python<{ oid: string; size: number }>("main.py", "get", uri, local("got"));
    expect(got).toEqual({ oid, size: FILE_BYTES });
    expect(digest(local("got"))).toBe(digest(file));
    both.unshift({ uri, oid });
  }
  const [{ uri, oid } = { uri: "", oid: "" }] = both;
  await client("save", `.runnel-objects/${oid}`, local("else", randomBytes(FILE_BYTES)));
  await expect(python("main.py", "get", uri, local("wrong"))).rejects.toThrow(/objects\.Wrong/);
  expect(existsSync(local("wrong"))).toBe(false);
});

test("what a client in Python saves is in the served folder and on a drive; an edit of 2 MB and a small file cost less than 300 bytes", async () => {
  const drive = sandbox.makeFolder(volume, "drive");
  await sandbox.device().mount(url, drive);
  const first = randomBytes(FILE_BYTES);
  const made = await client<Saved>("save", "reports/new.bin", local("new", first));
  expect(made.result.conflict).toBe(false);
  await isServed("reports/new.bin", first);
  expect(await onMount('sha256sum <"$1/reports/new.bin"', [drive])).toContain(digest(local("new")));

  const second = edited(edited(first, 1_500_000, "later"), 70_000, "sooner");
  const again = await client<Saved>("save", "reports/new.bin", local("new", second));
  expect(again).toMatchObject({ needed: 0, result: { node: made.result.node, conflict: false } });
  expect(again.sentBytes).toBeLessThan(300);
  await isServed("reports/new.bin", second);
  expect(await onMount('sha256sum <"$1/reports/new.bin"', [drive])).toContain(digest(local("new")));

  const small = Buffer.from("a small file\n");
  const whole = await client<Saved>("save", "reports/small.txt", local("small", small));
  expect(whole.result).toMatchObject({ conflict: false });
  expect(whole.sentBytes).toBeLessThan(300);
  await isServed("reports/small.txt", small);
  expect(await onMount('cat "$1/reports/small.txt"', [drive])).toBe(small.toString());

  // The other way round: what a program saves on the drive.
  await onMount('echo "from the drive" >"$1/reports/old/ü.txt"', [drive]);
  await client("fetch", "reports/old/ü.txt", local("out"));
  expect(readFileSync(local("out"), "utf8")).toBe("from the drive\n");
});

test("a client in Python puts a folder with files into a volume, new or there already, for one round trip", async () => {
  const link = await sandbox.startEmulator(volumes.server.port, { rttMs: ROUND_TRIP_MS });
  const put = async (into: string): Promise<{ results: { node: number }[]; tookS: number }> =>
    python("main.py", "put", `ws://127.0.0.1:${link.port}/${volume}`, into, local("from"));
  sandbox.makeFolder(volume, "from");
  const files = ["a", "b", "c", "d"];
  for (const name of files) local(`from/${name}`, Buffer.from(`content of ${name}\n`));
  for (const folder of ["reports", "put"]) {
    const { results, tookS } = await put(folder);
    expect(results.length).toBe(1 + 2 * files.length);
    expect(1000 * tookS).toBeLessThan(2 * ROUND_TRIP_MS);
    for (const name of files) await isServed(`${folder}/${name}`, readFileSync(local(`from/${name}`)));
  }
});

test("chunks that a client in Python names without sending them are asked for when no version has them", async () => {
  const content = randomBytes(FILE_BYTES);
  const made = await client<Saved>("save", "a", local("a", content), "hope");
  expect(made.needed).toBeGreaterThan(0);
  expect(made.sentBytes).toBeGreaterThan(FILE_BYTES);
  const known = await client<Saved>("save", "b", local("a"), "hope");
  expect(known.needed).toBe(0);
  expect(known.sentBytes).toBeLessThan(FILE_BYTES / 100);
  await isServed("b", content);
});

test("a client in Python that follows all and holds the lease is told of a change, and the change waits for it", async () => {
  const watched = await client<{ told: string[]; node: number; tookS: number }>("watch", "seen.txt");
  expect(watched.told).toEqual(["seen.txt"]);
  // Without its acknowledgement it would take a term.
  expect(watched.tookS).toBeLessThan(5);
});

test("what a client in Python must not say is answered with the error that PROTOCOL.md names", async () => {
  expect(await python("refusals.py", url)).toEqual({
    "a web page": "HTTP 403",
    "no subprotocol": "HTTP 426",
    text: "closed 1003",
    "an unknown kind of frame": "closed 4001",
    nothing: "closed 4001",
    "a number without an end": "closed 4001",
    "too much bulk in a frame": "closed 4001",
    "too large a message": "closed 1009",
    "no CBOR": "closed 4001",
    "bytes after CBOR": "closed 4001",
    "a compressed giant": "closed 4002",
    "compressed from another length": "closed 4001",
    "the server's channel": "closed 4001",
    "a channel that was never opened": "closed 4001",
    "bulk where none is read": "closed 4001",
    "more bulk than credit": "closed 4002",
    "an acknowledgement of nothing": "closed 4001",
    "no hello": "Invalid W11",
    "no proof": "Denied",
    "another protocol": "Version",
    "an unknown operation": "Unsupported",
    "an unknown operation before hello": "Unsupported",
    "a feature that is no name": "Invalid W10",
    "too many features": "Invalid W10",
    "no such volume": "NotFound",
    "no such attachment": "Invalid W12",
    "a field left out": "Invalid W10",
    "a field of another form": "Invalid W10",
    "no such folder": "NotFound",
    "a name with a slash": "BadName characters",
    "a node id that was not given out": "Invalid node id",
    "an unknown item": "Invalid W10",
    "another length than announced": "Invalid W20",
    "another size than announced": "Invalid W20",
    "another content than announced": "Corrupt",
    "no zstd": "Corrupt",
    "chunks of a version that never was": "Gone W22",
    "after what was never asked for": "Invalid W29",
    "a write to nothing": "NotFound",
  });
  // It goes on serving, and no refused write has changed a file.
  const { entries } = await client<{ entries: Record<string, { size_bytes: number }> }>("find", "refused *");
  expect(Object.values(entries).map((state) => state.size_bytes)).toEqual(Array(9).fill(0));
});

function digest(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
