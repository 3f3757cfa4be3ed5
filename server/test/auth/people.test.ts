// People and their passwords: what is kept, what a crash or a damaged file leaves, and who is told apart.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { type DiskRoot, SimulatedClock, SimulatedDisk, readWhole, replaceWhole } from "@runnel/shared";
import { PEOPLE_FILE, readPeople } from "../../src/auth/people-file.ts";
import { People } from "../../src/auth/people.ts";
import { Passwords } from "../../src/auth/passwords.ts";
import { SIGN_IN_TRIES, SignInTries } from "../../src/auth/sign-in-tries.ts";

const PASSWORD = "correct horse battery";

let clock: SimulatedClock;
let disk: SimulatedDisk;
let root: DiskRoot;
let people: People;

beforeEach(async () => {
  clock = new SimulatedClock();
  disk = new SimulatedDisk({ clock, seed: 1 });
  await reopen();
});

async function reopen(): Promise<void> {
  root = await disk.openRoot("/data/_server", { permissions: 0o700 });
  people = await People.open(root, clock);
}

describe("[F210] the people of a server", () => {
  test("are there after a crash as soon as they were answered, and no password is on the disk", async () => {
    await people.setUp("Ada", PASSWORD);
    await people.add("Bob", "user", "bobs own password");
    await people.add("Carl", "user");
    await people.change("Bob", { role: "admin" });
    await people.remove("Carl");
    disk.crash();
    await reopen();
    expect(people.list().map(({ name, role }) => `${name} ${role}`)).toEqual(["Ada admin", "Bob admin"]);
    expect((await people.verify("Ada", PASSWORD))?.name).toBe("Ada");
    expect((await people.verify("Bob", "bobs own password"))?.name).toBe("Bob");
    const text = (await readWhole(root, PEOPLE_FILE)) ?? "";
    for (const password of [PASSWORD, "bobs own password"]) expect(text).not.toContain(password);
    const kept = JSON.parse(text) as { format: number; people: { password: { kdf: string; hash: string } }[] };
    expect([kept.format, kept.people[0]?.password.kdf]).toEqual([1, "argon2id"]);
    expect(Buffer.from(kept.people[0]?.password.hash ?? "", "base64url")).toHaveLength(32);
  });

  test("are nobody to whom a password was right that is another one by then", async () => {
    const passwords = new Passwords();
    people = await People.open(root, clock, passwords);
    await people.setUp("Ada", PASSWORD);
    const compared = Promise.withResolvers<boolean>();
    passwords.isRight = () => compared.promise;
    const [before, removed] = [people.verify("Ada", PASSWORD), people.verify("Nobody", PASSWORD)];
    await people.change("Ada", { password: "another correct horse" });
    const after = people.verify("Ada", "another correct horse");
    compared.resolve(true);
    expect([await before, await removed]).toEqual([undefined, undefined]);
    expect((await after)?.name).toBe("Ada");
    const role = people.verify("Ada", PASSWORD);
    await people.add("Bob", "admin", "bobs own password");
    await people.change("Ada", { role: "user" });
    expect(await role).toMatchObject({ name: "Ada" });
  });

  test("are refused by name when a newer Runnel wrote them, or when the file is damaged", async () => {
    await replaceWhole(root, PEOPLE_FILE, JSON.stringify({ format: 2, all: [] }));
    await expect(readPeople(root)).rejects.toMatchObject({ kind: "Version", detail: { need: 2 } });
    for (const text of ["", "{", "[]", '{"format":1}', '{"format":1,"people":[{"name":"Ada","role":"root"}]}']) {
      await replaceWhole(root, PEOPLE_FILE, text);
      await expect(readPeople(root)).rejects.toMatchObject({ kind: "Corrupt" });
    }
  });

  test("keep an admin with a password, and one person of a name", async () => {
    await people.setUp("Ada", PASSWORD);
    await expect(people.add("Ada", "user")).rejects.toMatchObject({ kind: "Exists" });
    await expect(people.setUp("Eve", PASSWORD)).rejects.toMatchObject({ kind: "Denied" });
    await people.add("Bob", "admin");
    for (const change of [{ role: "user" as const }, { password: null }])
      await expect(people.change("Ada", change)).rejects.toMatchObject({ kind: "Invalid" });
    await expect(people.remove("Ada")).rejects.toMatchObject({ kind: "Invalid" });
    await expect(people.remove("nobody")).rejects.toMatchObject({ kind: "NotFound" });
    await people.change("Bob", { password: PASSWORD });
    await people.remove("Ada");
    expect(people.hasAdmin).toBe(true);
  });
});

describe("a password", () => {
  test("is right for its person alone, and those without one have none", async () => {
    await people.setUp("Ada", PASSWORD);
    await people.add("Bob", "user", PASSWORD);
    await people.add("Carl", "user");
    const [ada, bob] = people.list().map(({ password }) => password?.hash);
    expect(ada).not.toBe(bob);
    for (const [name, password] of [
      ["Ada", "correct horse batterz"],
      ["Ada", ""],
      ["Carl", ""],
      ["Carl", "undefined"],
      ["nobody", PASSWORD],
    ] as const)
      expect(await people.verify(name, password)).toBeUndefined();
  });

  test("is the same however its letters were typed", async () => {
    const passwords = new Passwords();
    const stored = await passwords.store("Zo\u00eb likes water");
    expect(await passwords.isRight("Zoe\u0308 likes water", stored)).toBe(true);
  });

  test("is looked at in turn, and more than a few at once are told to come again", async () => {
    const passwords = new Passwords();
    const stored = await passwords.store(PASSWORD);
    const looks = await Promise.allSettled(Array.from({ length: 40 }, () => passwords.isRight(PASSWORD, stored)));
    const busy = looks.filter((look) => look.status === "rejected");
    expect(busy.length).toBeGreaterThan(0);
    for (const { reason } of busy) expect(reason).toMatchObject({ kind: "Busy" });
    expect(await passwords.isRight(PASSWORD, stored)).toBe(true);
  });

  test("of scrypt is right too, as where Node has no argon2", async () => {
    const stored = {
      kdf: "scrypt",
      cost: 16_384,
      blockSize: 8,
      lanes: 1,
      salt: Buffer.from("SodiumChloride").toString("base64url"),
      // RFC 7914 §12, the first 32 bytes.
      hash: Buffer.from("7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2", "hex").toString(
        "base64url",
      ),
    } as const;
    expect(await new Passwords().isRight("pleaseletmein", stored)).toBe(true);
    expect(await new Passwords().isRight("pleaseletmeim", stored)).toBe(false);
  });
});

describe("tries to sign in", () => {
  test("of a name from many networks lock that person out of none where it has signed in before", async () => {
    const tries = new SignInTries(clock);
    tries.begin("Ada", "192.0.2.1");
    tries.succeeded("Ada", "192.0.2.1");
    for (let network = 0; network < SIGN_IN_TRIES.name.atOnce; network += 1)
      tries.begin("Ada", `198.51.100.${network}`);
    expect(() => tries.begin("Ada", "203.0.113.1")).toThrow(expect.objectContaining({ kind: "Busy" }));
    expect(tries.waitMs("Ada", "192.0.2.1")).toBe(0);
    expect(tries.waitMs("Bob", "203.0.113.1")).toBe(0);
    // Elsewhere it waits for a moment only.
    await clock.advance(SIGN_IN_TRIES.name.refillMs);
    expect(tries.waitMs("Ada", "203.0.113.1")).toBe(0);
  });

  test("that succeed cost nothing", () => {
    const tries = new SignInTries(clock);
    for (let time = 0; time < 100; time += 1) {
      tries.begin("Ada", "192.0.2.1");
      tries.succeeded("Ada", "192.0.2.1");
    }
    expect(tries.waitMs("Ada", "192.0.2.1")).toBe(0);
  });
});
