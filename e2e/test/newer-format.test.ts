// Stores that a newer Runnel has left on disk, and a newer protocol on the wire, are refused by name and left as they
// are; so is another protocol.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { closeSync, existsSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { LAUNCHER, Sandbox, changeDatabase, isMounted, onMount, refusalOf, run } from "../src/harness/index.ts";
import type { Device, Refusal, ServerProcess } from "../src/harness/index.ts";

const NEWER = 99;
const UPDATE = `was written by a newer Runnel (format ${NEWER}; this one reads up to 1): update Runnel.`;

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let drive: string;
/** Folders of the drive's own state and of its cache. */
let state: string;
let cache: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") }, data: sandbox.path("data") });
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
  await onMount('echo content > "$1/file"; cat "$1/file"', [drive]);
  await device.flush(drive, { up: true });
  await device.ask(["stop"]);
  [state, cache] = [onlyOne(join(device.home, "mounts")), onlyOne(join(device.home, "cache"))];
}, 60_000);

afterAll(() => sandbox.cleanup(), 120_000);

function onlyOne(folder: string): string {
  const names = readdirSync(folder);
  expect(names).toHaveLength(1);
  return join(folder, names[0] ?? "");
}

function lastSegment(folder: string): string {
  const segments = readdirSync(folder).filter((name) => /^\d{10}\.log$/.test(name));
  return join(folder, segments.toSorted().at(-1) ?? "");
}

/** The version stands at bytes 4 to 7 of the last segment's header in every version of the format. */
function bumpLog(path: string): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from([NEWER, 0, 0, 0]), 0, 4, 4);
  closeSync(file);
}

async function bumpDatabase(path: string): Promise<void> {
  await changeDatabase(path, `PRAGMA user_version = ${NEWER}`);
}

function bumpMarker(path: string): void {
  const marker = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, `${JSON.stringify({ ...marker, format: NEWER })}\n`);
}

/** Tests what becomes of a file that is bumped, then puts back what was there: the next test begins as this one did. */
async function withBumped(
  path: string,
  bump: (path: string) => void | Promise<void>,
  work: () => Promise<void>,
): Promise<void> {
  const kept = [path, `${path}-wal`, `${path}-shm`].map(
    (each) => [each, existsSync(each) ? readFileSync(each) : undefined] as const,
  );
  try {
    await bump(path);
    const before = digestOf(path);
    await work();
    expect(digestOf(path)).toBe(before);
  } finally {
    // Ends what uses the file, where it was not refused.
    if (isMounted(drive)) await device.unmount(drive);
    for (const [each, bytes] of kept)
      if (bytes === undefined) rmSync(each, { force: true });
      else writeFileSync(each, bytes);
  }
}

function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

describe("a store of the agent", () => {
  test.each<[string, () => string, (path: string) => void | Promise<void>, string]>([
    ["journal", () => lastSegment(join(state, "log")), bumpLog, `This log ${UPDATE}`],
    ["replica", () => join(state, "replica.sqlite"), bumpDatabase, `The replica ${UPDATE}`],
    ["cache index", () => join(cache, "cache.sqlite"), bumpDatabase, `The cache index ${UPDATE}`],
  ])(
    "that a newer one wrote is refused: %s",
    async (_, pathOf, bump, sentence) => {
      await withBumped(pathOf(), bump, async () => {
        const ran = await device.runnel(["mount", `${server.url}/docs`, drive, "--json"]);
        expect(refusalOf(ran)).toEqual({ code: 4, kind: "Version", sentence });
        expect(isMounted(drive)).toBe(false);
      });
    },
    60_000,
  );
});

describe("a server", () => {
  async function mounting(answer: (status: number) => string, status: number): Promise<Refusal> {
    const other = createServer();
    other.on("upgrade", (_request, socket) => socket.end(answer(status)));
    other.on("request", (_request, response) => response.writeHead(status).end("no"));
    await new Promise<void>((done) => other.listen(0, "127.0.0.1", done));
    try {
      const { port } = other.address() as { port: number };
      sandbox.shareSecret(server.port, port);
      const ran = await device.runnel(["mount", `ws://127.0.0.1:${port}/docs`, drive, "--json"]);
      const refusal = refusalOf(ran);
      return { ...refusal, sentence: refusal.sentence.replace(String(port), "PORT") };
    } finally {
      other.close();
      other.closeAllConnections();
    }
  }

  test("of another protocol version is named as one", async () => {
    expect(await mounting((status) => `HTTP/1.1 ${status} Upgrade Required\r\nContent-Length: 0\r\n\r\n`, 426)).toEqual(
      {
        code: 4,
        kind: "Version",
        sentence: "The server at 127.0.0.1:PORT speaks another version of Runnel's protocol: update the older one.",
      },
    );
  }, 60_000);

  test("of something else is not taken for one of ours", async () => {
    expect(await mounting((status) => `HTTP/1.1 ${status} Not Found\r\nContent-Length: 0\r\n\r\n`, 404)).toEqual({
      code: 3,
      kind: "Unreachable",
      sentence: "127.0.0.1:PORT answers, but not as a Runnel server of this version (HTTP 404 Not Found).",
    });
  }, 60_000);
});

// Comes last: the server is down from here on.
describe("a store of the server", () => {
  beforeAll(async () => {
    await server.stop();
  });

  test.each<[string, () => string, (path: string) => void | Promise<void>, string]>([
    ["commit log", () => lastSegment(sandbox.path("data", "docs", "log")), bumpLog, `This log ${UPDATE}`],
    ["meta store", () => sandbox.path("data", "docs", "meta", "meta.db"), bumpDatabase, `The meta store ${UPDATE}`],
    [
      "served folder",
      () => sandbox.path("served", ".runnel-store", "volume"),
      bumpMarker,
      `The served folder ${UPDATE.replace("written", "used")}`,
    ],
  ])(
    "that a newer one wrote is refused: %s",
    async (_, pathOf, bump, sentence) => {
      await withBumped(pathOf(), bump, async () => {
        const args = ["serve", "--volume", `docs=${sandbox.path("served")}`, "--listen", "127.0.0.1:0"];
        const ran = await run(process.execPath, [LAUNCHER, ...args, "--data", sandbox.path("data"), "--json"], {
          env: sandbox.env,
        });
        expect(refusalOf(ran)).toEqual({ code: 4, kind: "Version", sentence });
      });
      expect(readFileSync(sandbox.path("served", "file"), "utf8")).toBe("content\n");
    },
    60_000,
  );
});
