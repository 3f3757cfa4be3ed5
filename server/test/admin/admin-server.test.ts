// The administrator's socket and the audit log: every request leaves an entry, each change before it is answered, and
// none has a secret in it.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunnelError, SimulatedClock, SimulatedDisk } from "@runnel/shared";
import { askServer } from "../../src/admin/admin-client.ts";
import { type AdminDeps, serveAdmin } from "../../src/admin/admin-server.ts";
import type { AdminName, AdminRequest, AdminResult } from "../../src/admin/messages.ts";
import { OWN_FOLDER } from "../../src/auth/own-folder.ts";
import { type Security, openSecurity } from "../../src/auth/security.ts";

const TOKEN = "sT0kenOfTheLaptopThatNobodyMaySeeInAnyLog01";

const warnings: string[] = [];
const CHOICE = { hostname: "files", isLate: true, warn: (message: string): void => void warnings.push(message) };

const OPENERS = [
  { device: "", who: "a client", sinceMs: 0, isConnected: false, leaseMs: 7, folders: undefined, hasRead: false },
];

let folder: string;
let clock: SimulatedClock;
let disk: SimulatedDisk;
let security: Security;
let end: () => Promise<void>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "runnel-admin-"));
  clock = new SimulatedClock();
  disk = new SimulatedDisk({ clock, seed: 1 });
  security = await openSecurity(disk, clock, "/data", CHOICE);
  const volumes = [{ name: "docs", folder: "/srv/docs", volume: { epoch: "e" }, unavailable: undefined }];
  const server = { url: "wss://0.0.0.0:7473", volumes, connected: () => false, openers: async () => OPENERS };
  const own = join(folder, OWN_FOLDER);
  await mkdir(own, { mode: 0o700 });
  const openConsole = async (): Promise<{ url: string; opens: string }> => ({ url: "http://127.0.0.1:1/", opens: "x" });
  end = await serveAdmin({ security: withFolder(security, own), server, hostname: "files", openConsole });
});

/** The socket lies on the real disk, all else on a simulated one. */
function withFolder({ fingerprint, devices, invite, audit }: Security, own: string): AdminDeps["security"] {
  return { fingerprint, devices, invite, audit, folder: own };
}

afterEach(async () => {
  await end();
  await security.release();
  await rm(folder, { recursive: true });
});

function ask<Name extends AdminName>(name: Name, asked: AdminRequest<Name>): Promise<AdminResult<Name>> {
  return askServer(folder, name, asked);
}

const kindOf = (answer: Promise<unknown>): Promise<string> =>
  answer.then(
    () => "done",
    (error: RunnelError) => error.kind,
  );

async function said(): Promise<string[]> {
  const { entries } = await security.audit.page({});
  return entries.toReversed().map(({ act, object, result, detail }) => `${act} ${object} ${result} ${detail}`.trim());
}

async function letIn(): Promise<string> {
  const { invite } = await ask("invite", { volume: "docs", isReadOnly: false, person: "Ada", lastsMs: 60_000 });
  const { device } = await security.devices.join({ secret: invite.slice(-22), token: TOKEN, name: "laptop" });
  return device.id;
}

test("every act is recorded with its administrator, what it was done to, and what came of it", async () => {
  const id = await letIn();
  await ask("right", { device: "laptop", volume: "docs", right: "read" });
  const { invite } = await ask("invite", { volume: "docs", isReadOnly: true, person: "", lastsMs: 60_000 });
  const { invites } = await ask("invites", {});
  await ask("withdraw", { invite: invites[1]?.id ?? "" });
  await ask("devices", {});
  await ask("revoke", { device: id });
  expect(await kindOf(ask("revoke", { device: id }))).toBe("NotFound");
  expect(await kindOf(ask("right", { device: "laptop", volume: "nowhere", right: "read" }))).toBe("NotFound");
  expect(await kindOf(ask("invite", { volume: "nowhere", isReadOnly: true, person: "", lastsMs: 1 }))).toBe("NotFound");
  await ask("audit", {});
  const [used, withdrawn] = invites;
  expect(await said()).toEqual([
    `invite docs done Invite ${used?.id} for Ada, with the right to write. Reached by files:7473.`,
    `right laptop (${id}) done docs: write → read.`,
    `invite docs done Invite ${withdrawn?.id}, with the right to read. Reached by files:7473.`,
    "invites  done",
    `withdraw docs done Invite ${withdrawn?.id}, with the right to read.`,
    "devices  done",
    `revoke laptop (${id}) done`,
    `revoke ${id} NotFound No device is called ${id}. Run "runnel devices" to see them.`,
    "right laptop NotFound The server has no volume nowhere. It has: docs.",
    "invite nowhere NotFound The server has no volume nowhere. It has: docs.",
    "audit  done",
  ]);
  const { entries } = await ask("audit", {});
  expect(new Set(entries.map(({ who }) => who.kind))).toEqual(new Set(["admin"]));
  expect(entries[0]?.who.name).not.toBe("");
  expect(JSON.stringify(entries)).not.toContain(invite.slice(-22));
});

test("requests that are none, or not of their form, are recorded too", async () => {
  expect(await kindOf(ask("revoke", { device: "x".repeat(10_000) }))).toBe("Invalid");
  expect(await kindOf(askServer(folder, "format" as AdminName, {} as never))).toBe("Invalid");
  expect((await said()).map((text) => text.split(" ").slice(0, 3).join(" "))).toEqual(["administer  Invalid"]);
  await clock.advance(60_000);
  expect((await said()).at(-1)).toContain("administer");
});

test("a change is on stable storage before it is answered", async () => {
  await letIn();
  await ask("revoke", { device: "laptop" });
  disk.crash();
  security = await openSecurity(disk, clock, "/data", CHOICE);
  expect((await said()).at(-1)).toMatch(/^revoke laptop \([\da-f]{8}\) done$/);
});

test("a disk that is full keeps nobody from being cut off", async () => {
  await letIn();
  disk.fault = (operation, path) => (operation === "write" && path.startsWith("audit/") ? "NoSpace" : undefined);
  const { revoked } = await ask("revoke", { device: "laptop" });
  expect(revoked.revokedMs).not.toBeNull();
  disk.fault = undefined;
  await clock.advance(1_000);
  expect((await said()).at(-1)).toContain("revoke laptop");
});

test("invites, tokens and passwords that are pasted where a name is asked for are not recorded", async () => {
  const { invite } = await ask("invite", { volume: "docs", isReadOnly: true, person: "", lastsMs: 60_000 });
  const secret = invite.slice(-22);
  const password = "https://ada:correct-horse@proxy.example.org";
  for (const typed of [invite, secret, TOKEN, password, `#${secret}`]) {
    await kindOf(ask("revoke", { device: typed }));
    await kindOf(ask("right", { device: typed, volume: "docs", right: "none" }));
    await kindOf(ask("right", { device: "laptop", volume: typed, right: "none" }));
    await kindOf(ask("withdraw", { invite: typed }));
    await kindOf(ask("invite", { volume: typed, isReadOnly: true, person: "", lastsMs: 1 }));
    await kindOf(ask("invite", { volume: "docs", isReadOnly: true, person: typed.slice(0, 100), lastsMs: 1 }));
    await kindOf(ask("invite", { volume: "docs", isReadOnly: true, person: "", lastsMs: 1, address: typed }));
    await ask("audit", { who: typed });
  }
  await clock.advance(60_000);
  const text = JSON.stringify(await ask("audit", {})) + (await ask("auditCsv", {})).csv;
  for (const planted of [secret, TOKEN, "correct-horse"])
    expect([planted, text.includes(planted)]).toEqual([planted, false]);
});

test("the log is read by pages, as entries or as a table whose titles stand over the first", async () => {
  for (let count = 0; count < 7; count++)
    await ask("invite", { volume: "docs", isReadOnly: true, person: String(count), lastsMs: 1 });
  const first = await ask("audit", { limit: 5, act: "invite" });
  const second = await ask("audit", { limit: 5, act: "invite", after: first.after ?? 0 });
  expect([first.entries.length, second.entries.length, second.after]).toEqual([5, 2, null]);
  const table = await ask("auditCsv", { limit: 5, act: "invite" });
  const rest = await ask("auditCsv", { limit: 5, act: "invite", after: table.after ?? 0 });
  const rows = (table.csv + rest.csv).split("\r\n");
  expect([rows[0]?.slice(0, 10), rows.length, table.count, rest.count]).toEqual(["n,time,who", 9, 5, 2]);
  for (const wrong of [{ limit: 501 }, { limit: 0 }, { act: "nothing" }, { result: "good" }, { after: 0 }])
    expect(await kindOf(ask("audit", wrong as AdminRequest<"audit">))).toBe("Invalid");
});

test("who has a volume open is answered in the form of the API, and that it was asked is recorded", async () => {
  expect(await ask("openers", { volume: "docs", path: "a/b" })).toEqual({
    openers: [{ ...OPENERS[0], name: "", sinceMs: null, folders: null }],
    total: 1,
  });
  expect(await said()).toEqual(["openers docs done"]);
});
