// The agent's page, with the product's agent: what `runnel ui` opens, and how it is used by a browser that does as it
// likes.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import {
  type Answer,
  ask,
  dial,
  enterByFile,
  enterByLink,
  ownOrigin,
  untilClosed,
  type WebSocket,
} from "@runnel/shared/test/calls/bent-browser.ts";
import { type Device, Sandbox } from "../src/harness/index.ts";

const WRONG = "w".repeat(43);

let sandbox: Sandbox;
let device: Device;

beforeEach(() => {
  sandbox = new Sandbox();
  device = sandbox.device();
});

afterEach(() => sandbox.cleanup(), 120_000);

async function askForPage(): Promise<{ port: number; ticket: string }> {
  const { page } = (await device.ask(["ui", "--print"])) as { page: { link: string } };
  const { port, hash } = new URL(page.link);
  return { port: Number(port), ticket: hash.slice(1) };
}

function sessionOf({ text }: Answer): string {
  return (JSON.parse(text) as { session: string }).session;
}

/** Resolves with what is answered, text by text, once there are so many. */
function answers(socket: WebSocket, count: number): Promise<Record<string, unknown>[]> {
  return new Promise((done, fail) => {
    const texts: Record<string, unknown>[] = [];
    socket.on("message", (data: Buffer) => {
      texts.push(JSON.parse(data.toString()) as Record<string, unknown>);
      if (texts.length === count) done(texts);
    });
    socket.once("close", (code: number) => fail(new Error(`It was closed with ${code}.`)));
  });
}

test("a page sees the drives, fetches a table, and ends with the agent; others are kept out", async () => {
  const server = await sandbox.startServer();
  const drive = sandbox.makeFolder("drive");
  await device.mount(`${server.url}/docs`, drive);
  const { port, ticket } = await askForPage();

  // Callers that have no ticket, no session or another address.
  expect((await ask(port, "/", { headers: { host: `localhost:${port}` } })).status).toBe(421);
  expect((await dial(port, { origin: "https://evil.example" })).status).toBe(403);
  expect((await fetch(`http://127.0.0.1:${port}/enter`, { method: "POST", body: "{}" })).status).toBe(403);
  expect((await enterByLink(port, WRONG)).status).toBe(403);
  expect((await enterByFile(port, WRONG)).status).toBe(403);
  const outside = await dial(port);
  outside.socket.send(JSON.stringify({ hello: { protocol: 1, version: "x" } }));
  expect(await untilClosed(outside.socket)).toEqual({ code: 4401, texts: [] });

  // A caller that has one.
  const session = sessionOf(await enterByLink(port, ticket));
  expect((await enterByLink(port, ticket)).status).toBe(403);
  const { socket } = await dial(port);
  const said = answers(socket, 5);
  for (const text of [
    { session },
    { hello: { protocol: 1, version: "x", features: [] } },
    { id: 1, request: { verb: "status" } },
    { id: 2, request: { verb: "stop", force: true } },
    { id: 3, request: { verb: "savingsFile" } },
    { id: 4, request: { verb: "unsent", paths: [], discards: false, all: false, exportTo: sandbox.folder } },
  ])
    socket.send(JSON.stringify(text));
  const [hello, ...results] = await said;
  expect(hello).toMatchObject({ hello: { protocol: 1 } });
  const byId = new Map(results.map((result) => [result["id"], result]));
  expect(byId.get(1)).toMatchObject({ result: { mounts: [{ mountpoint: drive, state: expect.any(String) }] } });
  expect(byId.get(2)).toMatchObject({ error: { kind: "Unsupported" } });
  expect(byId.get(4)).toMatchObject({ error: { kind: "Invalid" } });
  const { ticket: download } = (byId.get(3) ?? {})["result"] as { ticket: string };
  const table = await fetch(`http://127.0.0.1:${port}/files/${download}`);
  expect(table.headers.get("content-disposition")).toMatch(/^attachment/);
  expect(await table.text()).toMatch(/^hour,server,drive,folder,read,/);
  expect((await fetch(`http://127.0.0.1:${port}/files/${download}`)).status).toBe(403);

  // Built or not, the start is served to who asks for it by its own address.
  expect([200, 503]).toContain((await ask(port, "/", { headers: ownOrigin(port) })).status);

  const ended = untilClosed(socket);
  await device.ask(["stop"]);
  expect((await ended).code).toBe(4401);
  const refused = new Promise((done) => {
    connect(port, "127.0.0.1").once("error", done);
  });
  expect(await refused).toMatchObject({ code: "ECONNREFUSED" });
  expect(existsSync(join(device.home, "page"))).toBe(false);
  // No token of any kind was written into the agent's log.
  const log = readFileSync(device.logPath, "utf8");
  for (const secret of [ticket, session, download]) expect(log).not.toContain(secret);
}, 90_000);
