// Entries of connections in the audit log: logins and refusals, each with who and why, and nothing that lets anybody
// in.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { LIMITS, RunnelError } from "@runnel/shared";
import type { AuditEntry } from "../../src/audit/audit-entry.ts";
import type { AuditFilter } from "../../src/audit/audit-filter.ts";
import { AuditLog } from "../../src/audit/audit-log.ts";
import { DeviceRegistry } from "../../src/auth/device-registry.ts";
import { type Client, ServerRig, instanceOf, kindOf } from "./server-rig.ts";

const HELLO = { protocol: 1, software: "test client" };
/** Each of 256 bits, as clients draw them. */
const TOKEN = "sT0kenOfTheLaptopThatNobodyMaySeeInAnyLog01";
const OTHER_TOKEN = "sT0kenOfAnotherOneThatNobodyMaySeeInLogs-02";
const MADE_UP = "sEcretThatIsNone_00000";

let wire: ServerRig;
let devices: DeviceRegistry;
let audit: AuditLog;
let planted: string[];

beforeEach(async () => {
  wire = await ServerRig.open();
  const { disk, clock } = wire.rig;
  const root = await disk.openRoot("/data/_server", { permissions: 0o700 });
  devices = await DeviceRegistry.open(root, clock);
  audit = await AuditLog.open({ root, clock, warn: () => undefined });
  wire.devices = devices;
  wire.audit = audit;
  planted = [TOKEN, OTHER_TOKEN, MADE_UP];
});

afterEach(async () => {
  await wire.close();
  await wire.rig.run(audit.close());
});

async function newSecret(right: "read" | "write" = "write"): Promise<string> {
  const { secret } = await wire.rig.run(devices.invite({ volume: "docs", right, person: "Ada", lastsMs: 3_600_000 }));
  planted.push(secret);
  return secret;
}

async function logIn(token: string, right: "read" | "write" = "write"): Promise<Client> {
  const client = wire.connect();
  await client.call("hello", HELLO);
  await client.call("join", { secret: await newSecret(right), token, name: "laptop" });
  return client;
}

async function entries(filter: AuditFilter = {}): Promise<AuditEntry[]> {
  await wire.rig.clock.advance(0);
  return (await wire.rig.run(audit.page(filter))).entries.toReversed();
}

async function said(filter: AuditFilter = {}): Promise<[string, string, string, string][]> {
  return (await entries(filter)).map(({ who, act, object, result }) => [who.name || who.kind, act, object, result]);
}

async function logText(): Promise<string> {
  await wire.rig.clock.advance(120_000);
  return JSON.stringify(await entries());
}

describe("the audit log has", () => {
  test("who used an invite, before that is answered, and who logs in and attaches from then on", async () => {
    await logIn(TOKEN);
    expect(await entries()).toMatchObject([
      {
        who: { kind: "device", name: "laptop", person: "Ada", id: devices.list()[0]?.id, address: expect.any(String) },
        act: "join",
        object: "docs",
        result: "done",
        detail: `Invite ${devices.listInvites()[0]?.id}, which gives the right to write.`,
      },
    ]);
    const client = wire.connect();
    await client.call("hello", { ...HELLO, token: TOKEN });
    await client.attach(instanceOf("1"));
    expect((await said()).slice(1)).toEqual([
      ["laptop", "login", "", "done"],
      ["laptop", "attach", "docs", "done"],
    ]);
  });

  test("a join only once it is on stable storage: until then it is not answered", async () => {
    const client = wire.connect();
    await client.call("hello", HELLO);
    const secret = await newSecret();
    let isHeld = true;
    let answered = false;
    wire.rig.disk.delayMs = (operation) => (isHeld && operation === "sync" ? 3_000 : 0);
    const join = client.call("join", { secret, token: TOKEN, name: "laptop" }).then(() => (answered = true));
    await wire.rig.clock.advance(8_000);
    const before = answered;
    isHeld = false;
    await wire.rig.clock.advance(3_000);
    await join;
    expect([before, answered]).toEqual([false, true]);
    expect(await said()).toEqual([["laptop", "join", "docs", "done"]]);
  });

  test("an invite that its device uses again, as after a lost answer, counted and without a sync each", async () => {
    const secret = await newSecret();
    const join = async (): Promise<void> => {
      const client = wire.connect();
      await client.call("hello", HELLO);
      await client.call("join", { secret, token: TOKEN, name: "laptop" });
    };
    await join();
    let syncs = 0;
    wire.rig.disk.delayMs = (operation) => (operation === "sync" ? syncs++ * 0 : 0);
    for (let time = 0; time < 50; time++) await join();
    expect(syncs).toBeLessThan(5);
    expect((await entries()).map(({ act, count }) => [act, count])).toEqual([
      ["join", 1],
      ["join", 1],
    ]);
    await wire.rig.clock.advance(60_000);
    expect((await entries()).map(({ act, count }) => [act, count]).at(-1)).toEqual(["join", 49]);
  });

  test("wrong tokens and invites, invites used twice, tries that come too often, from which address", async () => {
    const client = wire.connect();
    expect(await kindOf(client.call("hello", { ...HELLO, token: OTHER_TOKEN }))).toBe("Denied");
    await client.call("hello", HELLO);
    expect(await kindOf(client.call("join", { secret: MADE_UP, token: TOKEN, name: "laptop" }))).toBe("Denied");
    expect(await kindOf(client.call("attach", { volume: MADE_UP, instance: instanceOf("1"), wantsNodes: true }))).toBe(
      "Denied",
    );
    expect(await kindOf(client.call("space", { attachment: 1 }))).toBe("Denied");
    for (let time = 0; time < LIMITS.failedLogins; time++)
      await kindOf(client.call("join", { secret: MADE_UP, token: TOKEN, name: "laptop" }));
    expect(await kindOf(client.call("join", { secret: MADE_UP, token: TOKEN, name: "laptop" }))).toBe("Busy");
    expect(await said()).toEqual([
      ["unauthenticated", "login", "", "Denied"],
      ["unauthenticated", "join", "", "Denied"],
      ["unauthenticated", "attach", "", "Denied"],
      ["unauthenticated", "request", "", "Denied"],
      ["unauthenticated", "join", "", "Busy"],
    ]);
    expect((await entries()).map(({ detail }) => detail).slice(0, 2)).toEqual([
      "This device is not known to the server. Log in with an invite: runnel login INVITE.",
      "This invite is not known here. Ask for a new one.",
    ]);
    await wire.rig.clock.advance(60_000);
    expect((await entries({ result: "Denied", act: "join" })).map(({ count }) => count)).toEqual([1, 8]);
    expect(await logText()).toContain('"address":"');
  });

  test("a revoked device, by its name", async () => {
    await logIn(TOKEN);
    await wire.rig.run(devices.revoke("laptop"));
    const client = wire.connect();
    expect(await kindOf(client.call("hello", { ...HELLO, token: TOKEN }))).toBe("Revoked");
    expect((await said()).at(-1)).toEqual(["laptop", "login", "", "Revoked"]);
    const again = wire.connect();
    await again.call("hello", HELLO);
    expect(await kindOf(again.call("join", { secret: await newSecret(), token: TOKEN, name: "x" }))).toBe("Revoked");
    expect((await said()).at(-1)).toEqual(["laptop", "join", "", "Revoked"]);
  });

  test("a right that is missing: to the volume, and to change it", async () => {
    const client = await logIn(TOKEN, "read");
    expect(await kindOf(client.call("attach", { volume: "photos", instance: instanceOf("1"), wantsNodes: true }))).toBe(
      "NotFound",
    );
    const { id } = (await client.attach(instanceOf("1"))).channel;
    for (let time = 0; time < 3; time++)
      expect(await kindOf(client.call("newNodes", { attachment: id }))).toBe("ReadOnly");
    expect((await said()).slice(1)).toEqual([
      ["laptop", "attach", "photos", "NotFound"],
      ["laptop", "attach", "docs", "done"],
      ["laptop", "request", "docs", "ReadOnly"],
    ]);
    await wire.rig.clock.advance(60_000);
    const counts = (await entries({ result: "ReadOnly" })).map(({ count, detail }) => [count, detail]);
    expect(counts).toEqual([
      [1, "newNodes."],
      [2, "newNodes."],
    ]);
  });

  test("a client that is cut off; none that only leaves, or says nothing", async () => {
    const client = await logIn(TOKEN);
    client.link.send(new Uint8Array([255, 255, 255]));
    const silent = wire.connect();
    await wire.rig.clock.advance(20_000);
    expect(silent.closed).toBeDefined();
    const leaving = await logIn(OTHER_TOKEN);
    leaving.connection.close(new RunnelError("Interrupted", "test", "Enough."));
    await wire.rig.clock.advance(1_000);
    expect((await said()).filter(([, act]) => act !== "join")).toEqual([["laptop", "cutOff", "", "Invalid"]]);
  });

  test("none of the secrets that were said, wherever a client says them", async () => {
    await logIn(TOKEN);
    const client = wire.connect();
    await client.call("hello", { protocol: 1, software: OTHER_TOKEN, token: TOKEN });
    await kindOf(client.call("attach", { volume: OTHER_TOKEN, instance: instanceOf("1"), wantsNodes: true }));
    await kindOf(client.call("attach", { volume: MADE_UP, instance: instanceOf("2"), wantsNodes: true }));
    const other = wire.connect();
    await kindOf(other.call("hello", { protocol: 2, software: MADE_UP, token: OTHER_TOKEN, proof: OTHER_TOKEN }));
    await other.call("hello", HELLO);
    await kindOf(other.call("join", { secret: await newSecret(), token: OTHER_TOKEN, name: MADE_UP }));
    const text = await logText();
    for (const secret of planted) expect([secret, text.includes(secret)]).toEqual([secret, false]);
    expect((await entries()).length).toBeGreaterThan(5);
  });
});
