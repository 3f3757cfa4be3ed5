// The audit log of a real server: what devices and administrators do is in it, also after a kill; nothing in it lets
// anybody in. Server, agents and commands are processes of their own.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { askServer } from "@runnel/server/admin";
import { Sandbox, refusalOf, waitFor } from "../src/harness/index.ts";
import type { Device, Json, ServerProcess } from "../src/harness/index.ts";

let sandbox: Sandbox;
let server: ServerProcess;
let admin: Device;
let device: Device;

beforeEach(async () => {
  sandbox = new Sandbox();
  server = await serve();
  admin = sandbox.device("admin");
  device = sandbox.device("a");
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

function serve(
  listen = "0.0.0.0:0",
  volumes: Record<string, string> = { docs: sandbox.makeFolder("served") },
): Promise<ServerProcess> {
  return sandbox.startServer({ volumes, listen });
}

const data = (): string[] => ["--data", sandbox.path("data")];

async function invite(): Promise<string> {
  const answer = await admin.ask(["invite", "docs", ...data(), "--address", `127.0.0.1:${server.port}`]);
  return answer["invite"] as string;
}

interface Entry {
  n: number;
  who: { kind: string; name: string };
  act: string;
  object: string;
  result: string;
  detail: string;
}

async function entries(...options: string[]): Promise<Entry[]> {
  const answer = await admin.ask(["audit", ...data(), ...options]);
  return (answer["entries"] as unknown as Entry[]).toReversed();
}

const shown = (all: readonly Entry[]): string[] =>
  all.map(({ who, act, object, result }) => `${who.kind} ${act} ${object} ${result}`);

/** Returns what is in the files below a folder. */
function filesBelow(folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
  return paths
    .filter((path) => statSync(path, { throwIfNoEntry: false })?.isFile())
    .map((path) => readFileSync(path, "utf8"));
}

test("has logins, refusals and acts, and none of their secrets; also after a kill, and of the next server", async () => {
  const [used, late] = [await invite(), await invite()];
  await device.ask(["login", used, "--name", "laptop"]);
  const url = `wss://127.0.0.1:${server.port}/docs`;
  await device.ask(["find", url, "-name", "x"]);
  expect(refusalOf(await sandbox.device("b").runnel(["login", used, "--json"])).kind).toBe("Denied");
  await admin.ask(["right", "laptop", "docs", "read", ...data()]);
  await admin.ask(["revoke", "laptop", ...data()]);
  expect(refusalOf(await device.runnel(["find", url, "-name", "x", "--json"])).kind).toBe("Revoked");
  // A secret pasted where a name is asked for.
  expect(refusalOf(await admin.runnel(["revoke", late, ...data(), "--json"])).code).not.toBe(0);
  await server.kill();
  server = await serve(`0.0.0.0:${server.port}`, { docs: sandbox.path("served"), more: sandbox.makeFolder("more") });

  const { id } = ((await admin.ask(["devices", "--all", ...data()]))["devices"] as Json[])[0] ?? {};
  const laptop = `laptop (${String(id)})`;
  const all = shown(await entries());
  for (const expected of [
    `server serverStart wss://0.0.0.0:${server.port} done`,
    "server volumeAdd docs done",
    "admin invite docs done",
    "device join docs done",
    "device attach docs done",
    "unauthenticated join  Denied",
    `admin right ${laptop} done`,
    `admin revoke ${laptop} done`,
    "device login  Revoked",
    "server volumeAdd more done",
  ])
    expect([expected, all.filter((text) => text === expected).length > 0]).toEqual([expected, true]);
  expect((await entries("--act", "serverStart")).at(-1)?.detail).toBe(
    "The server before this one did not end properly.",
  );
  expect(shown(await entries("--who", "laptop", "--result", "failed"))).toEqual(["device login  Revoked"]);
  expect(await entries("--to", "24h")).toEqual([]);

  const { token } = (
    JSON.parse(readFileSync(sandbox.path("home/a", "servers.json"), "utf8")) as { servers: [{ token: string }] }
  ).servers[0];
  const csv = await admin.runnel(["audit", "--csv", ...data()]);
  expect(csv.stdout.split("\r\n")[0]).toBe("n,time,who,id,name,person,address,act,object,result,count,detail");
  expect(csv.stdout.split("\r\n").length).toBeGreaterThan(all.length);
  const logText = filesBelow(sandbox.path("data", "_server/audit")).join("");
  for (const secret of [used.slice(-22), late.slice(-22), token])
    expect([logText.includes(secret), csv.stdout.includes(secret)]).toEqual([false, false]);
  const table = await admin.runnel(["audit", ...data()]);
  expect(Math.max(...table.stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  expect(refusalOf(await admin.runnel(["audit", "--csv", "--json", ...data()])).code).toBe(2);
  expect(refusalOf(await admin.runnel(["audit", "--act", "nothing", "--json", ...data()])).code).toBe(2);
}, 90_000);

test("goes on after a torn line; of a server of this user alone it has no secret either", async () => {
  const volumes = { docs: sandbox.makeFolder("mine") };
  const own = await sandbox.startServer({ volumes, data: sandbox.makeFolder("own") });
  await device.ask(["find", `${own.url}/docs`, "-name", "x"]);
  const folder = sandbox.path("own", "_server/audit/acts");
  const last = join(folder, readdirSync(folder).toSorted().at(-1) ?? "");
  // An act that a client did is written down while that is answered.
  const log = (): string => filesBelow(sandbox.path("own", "_server/audit")).join("");
  await waitFor(() => log().includes('"act":"attach"'), 20_000, "the attachment in the audit log");
  await own.kill();
  writeFileSync(last, `${readFileSync(last, "utf8")}{"n":99,"ms":1,"who":"adm`);
  await sandbox.startServer({ volumes, data: sandbox.path("own") });
  const answer = await admin.ask(["audit", "--data", sandbox.path("own")]);
  const all = shown((answer["entries"] as unknown as Entry[]).toReversed());
  expect(all.filter((text) => text.startsWith("server serverStart"))).toHaveLength(2);
  expect(all).toContain("owner attach docs done");
  expect(readFileSync(last, "utf8")).not.toContain('{"n":99,');
  const secrets = filesBelow(sandbox.folder)
    .map((text) => text.trim())
    .filter((text) => /^[\w-]{43}$/.test(text));
  expect(secrets.length).toBeGreaterThan(0);
  const text = log();
  for (const secret of secrets) expect(text.includes(secret)).toBe(false);
}, 60_000);

test("has every act that was answered, however the server was killed", async () => {
  const people = new Set<string>();
  let asked = 0;
  const lane = async (name: string): Promise<void> => {
    for (let time = 0; ; time++) {
      const person = `${name} ${time}`;
      asked++;
      await askServer(sandbox.path("data"), "invite", { volume: "docs", isReadOnly: true, person, lastsMs: 60_000 });
      people.add(person);
    }
  };
  const lanes = ["a", "b", "c", "d"].map((name) => lane(name).catch((error: unknown) => error));
  await waitFor(async () => people.size > 40, 20_000, "acts to be answered");
  await server.kill();
  await Promise.all(lanes);
  // Some were under way.
  expect(asked).toBeGreaterThan(people.size);
  server = await serve(`0.0.0.0:${server.port}`);
  const invites = await entries("--act", "invite", "--limit", "100000");
  const recorded = new Set(invites.map(({ detail }) => /for (.*), with/.exec(detail)?.[1]));
  for (const person of people) expect([person, recorded.has(person)]).toEqual([person, true]);
  const { devices, invites: kept } = JSON.parse(
    readFileSync(sandbox.path("data", "_server/access.json"), "utf8"),
  ) as Record<string, Json[]>;
  expect(devices).toEqual([]);
  // No invite without a trace: one that was made and not answered is there as unknown.
  expect(invites.length).toBeGreaterThanOrEqual(kept?.length ?? Infinity);
}, 60_000);
