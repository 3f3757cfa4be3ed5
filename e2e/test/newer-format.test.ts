// Stores that a newer Runnel has left on disk, and a newer protocol on the wire, are refused by name and left as they
// are; so is another protocol.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readdirSync, writeFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { LAUNCHER, Sandbox, changeDatabase, isMounted, onMount, refusalOf, run } from "../src/harness/index.ts";
import type { Refusal, ServerProcess } from "../src/harness/index.ts";

const NEWER = 99;
const UPDATE = `was written by a newer Runnel (format ${NEWER}; this one reads up to 1): update Runnel.`;

let sandbox: Sandbox;
let server: ServerProcess;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await sandbox.startServer({ volumes: { docs: sandbox.makeFolder("served") }, data: sandbox.path("data") });
  const device = sandbox.device();
  await device.mount(`${server.url}/docs`, sandbox.makeFolder("drive"));
  await onMount('echo content > "$1/file"; cat "$1/file"', [sandbox.path("drive")]);
  await device.flush(sandbox.path("drive"), { up: true });
  await device.ask(["stop"]);
}, 60_000);

afterEach(() => sandbox.cleanup(), 60_000);

/** The version stands at bytes 4 to 7 of the last segment's header in every version of the format. */
function bumpLog(folder: string): string {
  const path = join(
    folder,
    readdirSync(folder)
      .filter((name) => /^\d{10}\.log$/.test(name))
      .toSorted()
      .at(-1) ?? "",
  );
  const file = openSync(path, "r+");
  writeSync(file, Buffer.from([NEWER, 0, 0, 0]), 0, 4, 4);
  closeSync(file);
  return path;
}

async function bumpDatabase(path: string): Promise<string> {
  await changeDatabase(path, `PRAGMA user_version = ${NEWER}`);
  return path;
}

function bumpMarker(path: string): string {
  const marker = JSON.parse(readFileSync(path, "utf8")) as object;
  writeFileSync(path, `${JSON.stringify({ ...marker, format: NEWER })}\n`);
  return path;
}

function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

describe("a store of the server", () => {
  test.each<[string, () => string | Promise<string>, string]>([
    ["commit log", () => bumpLog(sandbox.path("data", "docs", "log")), `This log ${UPDATE}`],
    ["meta store", () => bumpDatabase(sandbox.path("data", "docs", "meta", "meta.db")), `The meta store ${UPDATE}`],
    [
      "served folder",
      () => bumpMarker(sandbox.path("served", ".runnel-store", "volume")),
      `The served folder ${UPDATE.replace("written", "used")}`,
    ],
  ])(
    "that a newer one wrote is refused: %s",
    async (_, bump, sentence) => {
      await server.stop();
      const path = await bump();
      const before = digestOf(path);
      const args = ["serve", "--volume", `docs=${sandbox.path("served")}`, "--listen", "127.0.0.1:0"];
      const ran = await run(process.execPath, [LAUNCHER, ...args, "--data", sandbox.path("data"), "--json"], {
        env: sandbox.env,
      });
      expect(refusalOf(ran)).toEqual({ code: 4, kind: "Version", sentence });
      expect(digestOf(path)).toBe(before);
      expect(readFileSync(sandbox.path("served", "file"), "utf8")).toBe("content\n");
    },
    60_000,
  );
});

describe("a store of the agent", () => {
  const state = (): string => {
    const mounts = sandbox.path("home", "a", "mounts");
    return join(mounts, readdirSync(mounts)[0] ?? "");
  };
  const cache = (): string => {
    const caches = sandbox.path("home", "a", "cache");
    return join(caches, readdirSync(caches)[0] ?? "");
  };
  test.each<[string, () => string | Promise<string>, string]>([
    ["journal", () => bumpLog(join(state(), "log")), `This log ${UPDATE}`],
    ["replica", () => bumpDatabase(join(state(), "replica.sqlite")), `The replica ${UPDATE}`],
    ["cache index", () => bumpDatabase(join(cache(), "cache.sqlite")), `The cache index ${UPDATE}`],
  ])(
    "that a newer one wrote is refused: %s",
    async (_, bump, sentence) => {
      const path = await bump();
      const before = digestOf(path);
      const drive = sandbox.path("drive");
      const ran = await sandbox.device().runnel(["mount", `${server.url}/docs`, drive, "--json"]);
      expect(refusalOf(ran)).toEqual({ code: 4, kind: "Version", sentence });
      expect(digestOf(path)).toBe(before);
      expect(isMounted(drive)).toBe(false);
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
      const ran = await sandbox
        .device()
        .runnel(["mount", `ws://127.0.0.1:${port}/docs`, sandbox.path("drive"), "--json"]);
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
