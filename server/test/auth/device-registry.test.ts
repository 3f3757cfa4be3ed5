// Invites, devices and their rights: what is kept, what is forgotten, and what a crash or a damaged file leaves.
import { createHash } from "node:crypto";
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type DiskRoot, LIMITS, SimulatedClock, SimulatedDisk, readWhole, replaceWhole } from "@runnel/shared";
import { REGISTRY_FILE, readRegistry } from "../../src/auth/registry-file.ts";
import { DeviceRegistry, rightOn } from "../../src/auth/device-registry.ts";

const HOUR_MS = 3_600_000;
const tokenOf = (letter: string): string => letter.repeat(43);

let clock: SimulatedClock;
let disk: SimulatedDisk;
let root: DiskRoot;
let registry: DeviceRegistry;

beforeEach(async () => {
  clock = new SimulatedClock();
  disk = new SimulatedDisk({ clock, seed: 1 });
  root = await disk.openRoot("/data/_server", { permissions: 0o700 });
  registry = await DeviceRegistry.open(root, clock);
});

async function inviteTo(volume: string, right: "read" | "write" = "write", lastsMs = HOUR_MS): Promise<string> {
  return (await registry.invite({ volume, right, person: "Ada", lastsMs })).secret;
}

async function reopen(): Promise<void> {
  root = await disk.openRoot("/data/_server", { permissions: 0o700 });
  registry = await DeviceRegistry.open(root, clock);
}

describe("a right", () => {
  async function join(letter: string, volume: string, right?: "read" | "write"): Promise<string> {
    const secret = await inviteTo(volume, right);
    const { device } = await registry.join({ secret, token: tokenOf(letter), name: `laptop-${letter}` });
    return device.id;
  }

  test("is changed and taken away, told at once and durable when it resolves; a first one is told too", async () => {
    const told: string[] = [];
    registry.onRightChanged((device, volume) => told.push(`${device.name} ${volume} ${rightOn(device, volume)}`));
    const id = await join("a", "docs");
    await join("a", "photos", "read");
    expect(told.splice(0)).toEqual(["laptop-a docs write", "laptop-a photos read"]);
    await registry.setRight("laptop-a", "docs", "read");
    await registry.setRight(id, "docs", "read");
    await registry.setRight(id, "photos", undefined);
    await registry.setRight(id, "plans", "write");
    expect(told).toEqual(["laptop-a docs read", "laptop-a photos undefined", "laptop-a plans write"]);
    await reopen();
    expect(registry.deviceOf(tokenOf("a")).grants).toEqual([
      { volume: "docs", right: "read" },
      { volume: "plans", right: "write" },
    ]);
  });

  test("on a volume that is forgotten ends for all devices, with the invites that nobody has used", async () => {
    const told: string[] = [];
    for (const letter of ["a", "b"]) await join(letter, "docs");
    await join("b", "photos");
    const open = await inviteTo("docs");
    const other = await inviteTo("photos");
    registry.onRightChanged((device, volume) => told.push(`${device.name} ${volume}`));
    await registry.forgetVolume("docs");
    expect(told).toEqual(["laptop-a docs", "laptop-b docs"]);
    await reopen();
    expect(registry.list().map(({ grants }) => grants.map(({ volume }) => volume))).toEqual([[], ["photos"]]);
    await expect(registry.join({ secret: open, token: tokenOf("c"), name: "late" })).rejects.toMatchObject({
      kind: "Denied",
    });
    expect((await registry.join({ secret: other, token: tokenOf("c"), name: "late" })).volume).toBe("photos");
  });

  test("that another invite changes is told too", async () => {
    const told: string[] = [];
    await join("a", "docs");
    registry.onRightChanged((device, volume) => told.push(`${volume} ${rightOn(device, volume)}`));
    await join("a", "docs", "read");
    expect(told).toEqual(["docs read"]);
  });

  test("of nobody's, or of several devices, is refused by name", async () => {
    await expect(registry.setRight("nobody", "docs", "read")).rejects.toMatchObject({ kind: "NotFound" });
    const [one, other] = [await join("a", "docs"), await join("b", "docs")];
    await registry.revoke(other);
    await expect(registry.setRight(other, "docs", "read")).rejects.toMatchObject({ kind: "NotFound" });
    expect((await registry.setRight(one, "docs", undefined)).grants).toEqual([]);
  });
});

describe("the list of invites", () => {
  test("says what became of each, and tells nobody a secret", async () => {
    const used = await inviteTo("docs", "read");
    await registry.join({ secret: used, token: tokenOf("a"), name: "laptop" });
    const short = await inviteTo("docs", "write", 1_000);
    const open = await inviteTo("photos");
    await clock.advance(2_000);
    const listed = registry.listInvites();
    expect(listed.map(({ volume, right, hasRunOut, usedBy }) => [volume, right, hasRunOut, usedBy])).toEqual([
      ["docs", "read", false, "laptop"],
      ["docs", "write", true, undefined],
      ["photos", "write", false, undefined],
    ]);
    for (const secret of [used, short, open]) expect(JSON.stringify(listed)).not.toContain(secret);
  });

  test("lacks one that was withdrawn, which lets nobody in; one that was used cannot be", async () => {
    const [used, open] = [await inviteTo("docs"), await inviteTo("photos")];
    const { device } = await registry.join({ secret: used, token: tokenOf("a"), name: "laptop" });
    const [first, second] = registry.listInvites();
    await expect(registry.withdraw(first?.id ?? "")).rejects.toMatchObject({
      kind: "Invalid",
      message: `The invite ${first?.id} was used by laptop. To shut that device out: runnel revoke ${device.id}.`,
    });
    await registry.withdraw(second?.id ?? "");
    await reopen();
    expect(registry.listInvites().map(({ volume }) => volume)).toEqual(["docs"]);
    await expect(registry.join({ secret: open, token: tokenOf("b"), name: "late" })).rejects.toMatchObject({
      kind: "Denied",
      message: "This invite is not known here. Ask for a new one.",
    });
    await expect(registry.withdraw("01234567")).rejects.toMatchObject({ kind: "NotFound" });
  });
});

describe("an invite", () => {
  test("[W75] makes a device of whoever has it, with the right that it says", async () => {
    const secret = await inviteTo("docs", "read");
    const { device, volume, right } = await registry.join({ secret, token: tokenOf("a"), name: "laptop" });
    expect({ volume, right }).toEqual({ volume: "docs", right: "read" });
    expect(registry.deviceOf(tokenOf("a"))).toBe(device);
    expect(device).toMatchObject({ name: "laptop", person: "Ada" });
    expect([rightOn(device, "docs"), rightOn(device, "photos")]).toEqual(["read", undefined]);
  });

  test("[W75] works once; the same token gets the same answer again", async () => {
    const secret = await inviteTo("docs");
    const { device } = await registry.join({ secret, token: tokenOf("a"), name: "laptop" });
    expect((await registry.join({ secret, token: tokenOf("a"), name: "laptop" })).device).toBe(device);
    await expect(registry.join({ secret, token: tokenOf("b"), name: "thief" })).rejects.toMatchObject({
      kind: "Denied",
      message: "This invite was used already. Ask for a new one; if it was not you who used it, say so there.",
    });
    expect(registry.list()).toHaveLength(1);
  });

  test("[W75] that two use at once lets one in", async () => {
    const secret = await inviteTo("docs");
    const outcomes = await Promise.allSettled(
      ["a", "b", "c"].map((letter) => registry.join({ secret, token: tokenOf(letter), name: letter })),
    );
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("[W75] that has run out says when, also after it was forgotten that it was given", async () => {
    const secret = await inviteTo("docs", "write", HOUR_MS);
    await clock.advance(HOUR_MS);
    expect((await registry.join({ secret, token: tokenOf("a"), name: "in time" })).right).toBe("write");
    const late = await inviteTo("docs", "write", HOUR_MS);
    await clock.advance(HOUR_MS + 1);
    const join = registry.join({ secret: late, token: tokenOf("b"), name: "late" });
    await expect(join).rejects.toMatchObject({
      kind: "Denied",
      message: expect.stringMatching(/^This invite ran out at \d{4}-\d\d-\d\d \d\d:\d\d UTC\. Ask for a new one\.$/),
    });
    await clock.advance(31 * 24 * HOUR_MS);
    await inviteTo("docs");
    await expect(registry.join({ secret: late, token: tokenOf("b"), name: "late" })).rejects.toMatchObject({
      message: "This invite is not known here. Ask for a new one.",
    });
  });

  test("[W75] to another volume adds to what the device has, one to the same changes its right", async () => {
    for (const [volume, right] of [
      ["docs", "read"],
      ["photos", "write"],
      ["docs", "write"],
    ] as const)
      await registry.join({ secret: await inviteTo(volume, right), token: tokenOf("a"), name: "laptop" });
    const [device] = registry.list();
    expect(device?.grants.toSorted((a, b) => a.volume.localeCompare(b.volume))).toEqual([
      { volume: "docs", right: "write" },
      { volume: "photos", right: "write" },
    ]);
  });

  test("[limit devices] that would make one device too many is refused, and not used up; known devices still take invites", async () => {
    const devices = Array.from({ length: LIMITS.devices }, (_, index) => ({
      id: index.toString(16).padStart(8, "0"),
      name: "laptop",
      person: "",
      tokenDigest: createHash("sha256")
        .update(index === 0 ? tokenOf("a") : String(index))
        .digest("hex"),
      grants: [],
      createdMs: 1,
    }));
    await replaceWhole(root, REGISTRY_FILE, JSON.stringify({ format: 1, devices, invites: [] }));
    await reopen();
    const secret = await inviteTo("docs");
    const refused = registry.join({ secret, token: tokenOf("b"), name: "one more" });
    await expect(refused).rejects.toMatchObject({ kind: "TooLarge", detail: { limit: LIMITS.devices } });
    expect((await registry.join({ secret, token: tokenOf("a"), name: "laptop" })).device.id).toBe("00000000");
    expect(registry.list()).toHaveLength(LIMITS.devices);
  });

  test("[limit invites] there are no more than the limit at once", async () => {
    const rows = { devices: [], invites: [] };
    const invite = { volume: "docs", right: "read", person: "", untilMs: 2 ** 50 } as const;
    const invites = Array.from({ length: LIMITS.invites }, (_, index) => ({
      ...invite,
      secretDigest: index.toString(16).padStart(64, "0"),
    }));
    await replaceWhole(root, REGISTRY_FILE, JSON.stringify({ format: 1, ...rows, invites }));
    await reopen();
    await expect(inviteTo("docs")).rejects.toMatchObject({ kind: "TooLarge", detail: { limit: LIMITS.invites } });
  });
});

describe("a device", () => {
  test("[W76] that is revoked is told so by its token, at once and after a restart, and cannot come back by an invite", async () => {
    await registry.join({ secret: await inviteTo("docs"), token: tokenOf("a"), name: "laptop" });
    const told: string[] = [];
    registry.onRevoked(({ name }) => told.push(name));
    const revoking = registry.revoke("laptop");
    expect(told).toEqual(["laptop"]);
    expect(() => registry.deviceOf(tokenOf("a"))).toThrow(expect.objectContaining({ kind: "Revoked" }));
    await revoking;
    await reopen();
    expect(() => registry.deviceOf(tokenOf("a"))).toThrow(expect.objectContaining({ kind: "Revoked" }));
    const join = registry.join({ secret: await inviteTo("docs"), token: tokenOf("a"), name: "laptop" });
    await expect(join).rejects.toMatchObject({ kind: "Revoked" });
    const again = await registry.join({ secret: await inviteTo("docs"), token: tokenOf("b"), name: "laptop" });
    expect(registry.deviceOf(tokenOf("b"))).toBe(again.device);
  });

  test("may write where it has that right, until it is revoked", async () => {
    const { device } = await registry.join({ secret: await inviteTo("docs"), token: tokenOf("a"), name: "laptop" });
    const mayWrite = (volume: string, id = device.id): boolean => registry.mayWrite(id, volume);
    expect([mayWrite("docs"), mayWrite("plans"), mayWrite("docs", "0000")]).toEqual([true, false, false]);
    await registry.setRight("laptop", "docs", "read");
    expect(mayWrite("docs")).toBe(false);
    await registry.setRight("laptop", "docs", "write");
    expect(mayWrite("docs")).toBe(true);
    await registry.revoke("laptop");
    expect(mayWrite("docs")).toBe(false);
  });

  test("is known to have been seen, also after a restart, but is written down for that every ten minutes at most", async () => {
    const { device } = await registry.join({ secret: await inviteTo("docs"), token: tokenOf("a"), name: "laptop" });
    const seen = (): number | undefined => registry.list()[0]?.seenMs;
    expect(seen()).toBeUndefined();
    registry.seen(device.id);
    const first = seen();
    await clock.advance(60_000);
    registry.seen(device.id);
    expect(seen()).toBe((first ?? 0) + 60_000);
    await reopen();
    expect(seen()).toBe(first);
    await clock.advance(11 * 60_000);
    registry.seen(device.id);
    registry.seen("no device");
    const last = seen();
    await clock.advance(1_000);
    await reopen();
    expect([seen(), (last ?? 0) > (first ?? 0)]).toEqual([last, true]);
  });

  test("is named by its name or its id; a name that several have is refused with their ids", async () => {
    for (const letter of ["a", "b"])
      await registry.join({ secret: await inviteTo("docs"), token: tokenOf(letter), name: "laptop" });
    await expect(registry.revoke("laptop")).rejects.toMatchObject({ kind: "Invalid" });
    await expect(registry.revoke("phone")).rejects.toMatchObject({ kind: "NotFound" });
    const [first] = registry.list();
    await registry.revoke(first?.id ?? "");
    expect((await registry.revoke("laptop")).id).not.toBe(first?.id);
  });

  test("that is none is Denied", () => {
    expect(() => registry.deviceOf(tokenOf("z"))).toThrow(expect.objectContaining({ kind: "Denied" }));
  });
});

describe("what is kept", () => {
  test("[F91] holds neither tokens nor secrets, for this user only", async () => {
    const used = await inviteTo("docs");
    const open = await inviteTo("docs");
    await registry.join({ secret: used, token: tokenOf("a"), name: "laptop" });
    const text = (await readWhole(root, REGISTRY_FILE)) ?? "";
    expect(text).toContain("laptop");
    for (const secret of [used, open, tokenOf("a")]) expect(text).not.toContain(secret);
    expect((await root.stat(REGISTRY_FILE)).mode & 0o777).toBe(0o600);
  });

  test("[F91] survives a power cut at any moment: what was told is there, what was not is there whole or not at all", async () => {
    for (let cutAfter = 0; cutAfter < 12; cutAfter++) {
      clock = new SimulatedClock();
      disk = new SimulatedDisk({ clock, seed: cutAfter });
      await reopen();
      const secret = await inviteTo("docs");
      let isTold = false;
      const joining = registry.join({ secret, token: tokenOf("a"), name: "laptop" }).then(
        () => {
          isTold = true;
        },
        () => undefined,
      );
      for (let turn = 0; turn < cutAfter * 4; turn++) await Promise.resolve();
      const wasTold = isTold;
      disk.crash();
      await joining;
      await reopen();
      const isThere = registry.list().length === 1;
      if (wasTold) expect(isThere).toBe(true);
      // Either way the same token gets in with the same invite.
      await registry.join({ secret, token: tokenOf("a"), name: "laptop" });
      expect(registry.list()).toHaveLength(1);
    }
  });

  test.each<[string, string, string]>([
    ["of a newer format", JSON.stringify({ format: 2, devices: [] }), "Version"],
    ["torn", '{"format": 1, "devi', "Corrupt"],
    ["empty", "", "Corrupt"],
    ["of another form", JSON.stringify({ format: 1, devices: [{ id: "1" }], invites: [] }), "Corrupt"],
  ])("[F91] %s is refused and left as it is", async (_title, text, kind) => {
    await replaceWhole(root, REGISTRY_FILE, text);
    await expect(DeviceRegistry.open(root, clock)).rejects.toMatchObject({ kind });
    expect(await readWhole(root, REGISTRY_FILE)).toBe(text);
  });

  test("[F91] of nobody is empty", async () => {
    expect(await readRegistry(root)).toEqual({ devices: [], invites: [] });
  });
});
