// The console of a real server: set up by the link that it prints, opened by whoever runs it, and closed to other users
// of the machine. What its doors refuse in detail is the server's own tests' (server/test/console/).
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { chmodSync, existsSync, statSync } from "node:fs";
import { type Answer, ask, dial, enterByLink, type WebSocket } from "@runnel/shared/test/calls/bent-browser.ts";
import { type ConsolePage, enterConsole } from "../src/harness/clients/console-page.ts";
import { type Device, LAUNCHER, type ServerProcess, run, Sandbox } from "../src/harness/index.ts";

const PASSWORD = "correct horse battery";
const NOBODY = "65534";

let sandbox: Sandbox;
let server: ServerProcess;
let admin: Device;
const sockets: WebSocket[] = [];

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await start();
  admin = sandbox.device("admin");
}, 60_000);

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await sandbox.cleanup();
}, 60_000);

function start(listen = "127.0.0.1:0"): Promise<ServerProcess> {
  return sandbox.startServer({ listen, args: ["--tls"] });
}

const data = (): string[] => ["--data", sandbox.path("data")];

/** Sends as the console's own page does. */
function post(path: string, body: object): Promise<Answer> {
  const headers = { origin: `https://127.0.0.1:${server.port}`, "content-type": "application/json" };
  return ask(server.port, path, { isSecure: true, method: "POST", headers, body: JSON.stringify(body) });
}

async function openClient(dialled: Promise<{ socket: WebSocket }>, session: string): Promise<ConsolePage> {
  const { socket } = await dialled;
  sockets.push(socket);
  return enterConsole(socket, session);
}

function page(answer: Answer): Promise<ConsolePage> {
  const cookie = answer.headers["set-cookie"]?.[0]?.split(";", 1)[0] ?? "";
  const origin = `https://127.0.0.1:${server.port}`;
  return openClient(dial(server.port, { origin, cookie }, "/calls", true), "");
}

test("is set up by the link that the server prints, which is good once; afterwards a start prints none", async () => {
  const { url, setUpLink } = server.console ?? { url: "", setUpLink: "" };
  expect(url).toBe(`https://127.0.0.1:${server.port}/`);
  const token = new URL(setUpLink ?? "").hash.replace("#setup=", "");
  const asked = { token, name: "Ada", password: PASSWORD };
  const first = await post("/set-up", asked);
  expect(first.status).toBe(200);
  const ada = await page(first);
  expect(await ada.ask("whoAmI", {})).toMatchObject({ name: "Ada", role: "admin" });
  expect((await post("/set-up", { ...asked, name: "Eve" })).status).toBe(403);
  await ada.ask("addPerson", { name: "Bob", role: "user", password: "bobs own password" });
  const { invite } = await ada.ask("invite", { volume: "docs", isReadOnly: false, person: "Bob", lastsMs: 60_000 });
  expect(invite).toMatch(/^runnel:\/\//);
  const bob = await page(await post("/sign-in", { name: "Bob", password: "bobs own password" }));
  await expect(bob.ask("people", {})).rejects.toMatchObject({ kind: "Denied" });
  const { port } = server;
  await server.stop();
  server = await start(`127.0.0.1:${port}`);
  expect(server.console).toEqual({ url: `https://127.0.0.1:${port}/`, setUpLink: null });
  expect((await post("/set-up", asked)).status).toBe(403);
  expect((await post("/sign-in", { name: "Ada", password: PASSWORD })).status).toBe(200);
  const log = (await admin.ask(["audit", ...data()])) as { entries: { act: string; who: { name: string } }[] };
  const acts = log.entries.map(({ act, who }) => `${who.name} ${act}`);
  for (const act of ["Ada setUp", "Ada personAdd", "Ada invite", "Bob signIn", "Bob administer"])
    expect(acts).toContain(act);
  expect(statSync(sandbox.path("data", "_server", "people.json")).mode & 0o777).toBe(0o600);
});

test("opens without a password for whoever runs the server, on loopback, and for no other user of the machine", async () => {
  const { page: shown } = (await admin.ask(["console", "--print", ...data()])) as {
    page: { url: string; link: string };
  };
  const { hostname, port, hash, protocol } = new URL(shown.link);
  expect([protocol, hostname]).toEqual(["http:", "127.0.0.1"]);
  const entered = await enterByLink(Number(port), hash.slice(1));
  const { session } = JSON.parse(entered.text) as { session: string };
  const local = await openClient(dial(Number(port)), session);
  expect(await local.ask("whoAmI", {})).toMatchObject({ name: "", role: "admin", isSetUp: false });
  expect((await enterByLink(Number(port), hash.slice(1))).status).toBe(403);
  // The token of loopback is worth nothing at the server's own door.
  await expect(
    page({ status: 200, text: "", headers: { "set-cookie": [`__Host-runnel=${session}`] } }),
  ).rejects.toThrow("did not let the page in");
  const command = [LAUNCHER, "console", "--print", ...data(), "--json"];
  const isRoot = process.geteuid?.() === 0;
  if (isRoot && existsSync("/usr/bin/setpriv")) {
    const other = sandbox.makeFolder("other");
    chmodSync(other, 0o777);
    const args = ["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", process.execPath, ...command];
    const refused = await run("setpriv", args, { env: { ...sandbox.env, RUNNEL_HOME: other } });
    expect(refused.code).not.toBe(0);
    expect(refused.stdout).not.toContain("#");
  }
});

test("is not there without TLS, where the wire is as before", async () => {
  const plain = await sandbox.startServer({
    volumes: { docs: sandbox.makeFolder("plain") },
    data: sandbox.makeFolder("plain-data"),
  });
  expect(plain.console).toBeUndefined();
  for (const path of ["/", "/wire", "/calls"]) expect((await ask(plain.port, path)).status).toBe(426);
  const headers = { origin: `http://127.0.0.1:${plain.port}`, "content-type": "application/json" };
  expect((await ask(plain.port, "/sign-in", { method: "POST", headers, body: "{}" })).status).toBe(426);
  // A page may not upgrade at the wire's path, with TLS as without.
  const origin = { origin: `https://127.0.0.1:${server.port}` };
  expect((await dial(server.port, origin, "/wire", true)).status).toBe(403);
  expect((await dial(server.port, origin, "/other", true)).status).toBe(404);
  expect((await dial(plain.port, { origin: `http://127.0.0.1:${plain.port}` }, "/calls")).status).toBe(400);
});
