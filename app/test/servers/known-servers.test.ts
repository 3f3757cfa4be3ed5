// The file of servers that know this device.
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { KnownServers } from "../../src/agent/servers/known-servers.ts";
import { Secrets } from "../../src/agent/secrets/secrets.ts";
import { logout } from "../../src/agent/servers/logout.ts";

const SERVER = {
  place: "files.example.org:7473",
  fingerprint: "f".repeat(43),
  token: "t".repeat(43),
  device: "laptop",
  volumes: [
    { name: "my docs", isReadOnly: true },
    { name: "photos", isReadOnly: false },
  ],
};

let folder: string;
let path: string;
let servers: KnownServers;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnl-"));
  path = join(folder, "servers.json");
  servers = new KnownServers(path, () => Promise.resolve(new Secrets({ stores: [], best: undefined })));
});

afterEach(() => rmSync(folder, { recursive: true }));

test("[F92] is for its user alone, and holds one entry a server", async () => {
  await servers.keep({ ...SERVER, token: "o".repeat(43) });
  await servers.keep({ ...SERVER, place: "other:1" });
  chmodSync(path, 0o644);
  await servers.keep(SERVER);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(servers.find(SERVER.place)).toEqual(SERVER);
  expect((JSON.parse(readFileSync(path, "utf8")) as { servers: unknown[] }).servers).toHaveLength(2);
});

test("[F92] a server that is forgotten leaves nothing of it behind; the others stay", async () => {
  await servers.keep(SERVER);
  await servers.keep({ ...SERVER, place: "other:1", token: "o".repeat(43) });
  expect(await logout(SERVER.place, servers)).toEqual({
    server: SERVER.place,
    device: "laptop",
    isTokenGone: true,
  });
  expect(servers.places()).toEqual(["other:1"]);
  expect([await servers.tokenFor(`wss://${SERVER.place}/photos`), servers.trustOf(SERVER.place)]).toEqual([
    undefined,
    {},
  ]);
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8");
    expect([text.includes(SERVER.token), text.includes(SERVER.fingerprint)]).toEqual([false, true]);
  }
  await expect(logout(SERVER.place, servers)).rejects.toMatchObject({
    kind: "NotFound",
    message: `This device is not logged in at ${SERVER.place}. It knows other:1.`,
  });
});

test("a token goes to the very server that it is of, by TLS only", async () => {
  await servers.keep(SERVER);
  expect(await servers.tokenFor("wss://files.example.org:7473/photos")).toBe(SERVER.token);
  for (const other of [
    "wss://files.example.org/photos",
    "wss://files.example.org.:7473/photos",
    "ws://127.0.0.1:7473/photos",
  ])
    expect(await servers.tokenFor(other)).toBeUndefined();
  expect(servers.trustOf(SERVER.place)).toEqual({ fingerprint: SERVER.fingerprint });
  expect(servers.trustOf("elsewhere:1")).toEqual({});
});

test("a volume is read-only as the login said", async () => {
  await servers.keep(SERVER);
  const place = "wss://files.example.org:7473";
  expect([`${place}/my%20docs`, `${place}/photos`, `${place}/new`].map((url) => servers.isReadOnly(url))).toEqual([
    true,
    false,
    false,
  ]);
});

test.each([
  ["of a newer format", '{"format": 3, "servers": []}', "Version"],
  ["torn", '{"format": 1, "ser', "Corrupt"],
  ["with a token nowhere", '{"format": 2, "servers": [{"place": "x", "device": "d", "volumes": []}]}', "Corrupt"],
  ["of another form", '{"format": 1, "servers": [{"place": "x"}]}', "Corrupt"],
])("[F92] %s is refused and left as it is", async (_title, text, kind) => {
  writeFileSync(path, text);
  expect(() => servers.find("x")).toThrow(expect.objectContaining({ kind }));
  await expect(servers.keep(SERVER)).rejects.toMatchObject({ kind });
  expect(readFileSync(path, "utf8")).toBe(text);
});
