// Roles: what somebody who is no admin may see and do, of all verbs of the console; and that each act is in the audit
// log, with no secret in it.
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { CONSOLE_VERBS } from "../../src/console/verbs/index.ts";
import { ConsoleRig, PASSWORD } from "./console-rig.ts";

/** Verbs of whoever is signed in: each shows or does what is the caller's own, and a test says so. */
const FOR_ALL = [
  "browse",
  "devices",
  "endSession",
  "revoke",
  "sessions",
  "setPassword",
  "signOut",
  "viewVolumes",
  "volumes",
  "whoAmI",
];
const FOR_ADMINS = Object.entries(CONSOLE_VERBS)
  .filter(([, { role }]) => role === "admin")
  .map(([verb]) => verb);

test("somebody who is no admin calls no verb of admins, and each try is in the audit log", async () => {
  const rig = await ConsoleRig.open();
  await rig.signedIn("Ada", "admin");
  const bob = await rig.page(await rig.signedIn("Bob", "user"));
  expect(
    Object.keys(CONSOLE_VERBS)
      .filter((verb) => !FOR_ADMINS.includes(verb))
      .toSorted(),
  ).toEqual(FOR_ALL);
  for (const verb of FOR_ADMINS) expect([verb, await bob.kindOf(verb, {})]).toEqual([verb, "Denied"]);
  const tried = (await rig.entries()).filter(({ act, result }) => act === "administer" && result === "Denied");
  expect(new Set(tried.map(({ object }) => object))).toEqual(new Set(FOR_ADMINS));
  expect(tried.every(({ who }) => who.kind === "person" && who.name === "Bob")).toBe(true);
  expect(rig.security.people.list().map(({ name, role }) => `${name} ${role}`)).toEqual(["Ada admin", "Bob user"]);
  expect(rig.security.devices.listInvites()).toEqual([]);
});

test("somebody who is no admin sees and revokes own devices only", async () => {
  const rig = await ConsoleRig.open();
  const bob = await rig.page(await rig.signedIn("Bob", "user"));
  const joined = async (person: string, letter: string): Promise<string> => {
    const { secret } = await rig.security.invite({ volume: "docs", right: "write", person, lastsMs: 60_000 });
    const token = letter.repeat(43);
    return (await rig.security.devices.join({ secret, token, name: `laptop-${letter}` })).device.id;
  };
  const [own, other] = [await joined("Bob", "b"), await joined("Ada", "a")];
  expect((await bob.ask("devices", {})).devices.map(({ id }) => id)).toEqual([own]);
  for (const device of [other, "laptop-a", "laptop-b"]) expect(await bob.kindOf("revoke", { device })).toBe("NotFound");
  expect(await bob.kindOf("revoke", { device: own })).toBe("done");
  const revoked = rig.security.devices.list().map(({ name, revokedMs }) => `${name} ${revokedMs !== undefined}`);
  expect(revoked).toEqual(["laptop-b true", "laptop-a false"]);
});

test("a role that is changed holds at once: what went on with the one of before ends", async () => {
  const rig = await ConsoleRig.open();
  const ada = await rig.page(await rig.signedIn("Ada", "admin"));
  const bob = await rig.page(await rig.signedIn("Bob", "user"));
  await ada.ask("changePerson", { name: "Bob", role: "admin" });
  expect((await bob.closed).code).toBe(4401);
  const asAdmin = await rig.page(await rig.signedIn("Bob", "admin"));
  expect(await asAdmin.kindOf("people", {})).toBe("done");
  await ada.ask("changePerson", { name: "Bob", role: "user" });
  expect((await asAdmin.closed).code).toBe(4401);
  expect(await (await rig.page(await rig.signedIn("Bob", "user"))).kindOf("people", {})).toBe("Denied");
  expect(await ada.kindOf("changePerson", { name: "Ada", role: "user" })).toBe("Invalid");
  expect(await ada.kindOf("removePerson", { name: "Ada", revokesDevices: false })).toBe("Invalid");
});

test("each act of an admin is in the audit log when it is answered, and no secret is", async () => {
  const rig = await ConsoleRig.open();
  const cookie = await rig.signedIn("Ada", "admin");
  const ada = await rig.page(cookie);
  await ada.ask("addPerson", { name: "Bob", role: "user", password: "bobs own password" });
  const { invite } = await ada.ask("invite", { volume: "docs", isReadOnly: true, person: "Bob", lastsMs: 60_000 });
  await ada.ask("changePerson", { name: "Bob", password: null });
  await ada.ask("removePerson", { name: "Bob", revokesDevices: true });
  await ada.ask("setPassword", { before: PASSWORD, password: "the second password" });
  await rig.post("/sign-in", { name: "my password in this field", password: "x" });
  // Read without a wait: what is answered is written.
  const { entries } = await rig.security.audit.page({});
  const acts = entries
    .toReversed()
    .filter(({ who }) => who.kind === "admin")
    .map(({ who, act, object, result }) => `${who.kind} ${who.name} ${act} ${object} ${result}`);
  expect(acts).toEqual([
    "admin Ada signIn  done",
    "admin Ada personAdd Bob done",
    "admin Ada invite docs done",
    "admin Ada personChange Bob done",
    "admin Ada personRemove Bob done",
    "admin Ada setPassword Ada done",
  ]);
  const all = JSON.stringify(await rig.entries());
  expect(all).toContain('"signIn"');
  for (const secret of [
    PASSWORD,
    "bobs own password",
    "second password",
    "my password",
    cookie.split("=")[1],
    invite.slice(-22),
  ])
    expect(all).not.toContain(secret);
});

test("whoever may open the server's socket is an admin on loopback without a password, and is nobody over TLS", async () => {
  const rig = await ConsoleRig.open();
  const who = { kind: "admin", id: "", name: "root", person: "", address: "" } as const;
  const { opens } = await rig.console.openLocal(who, "link");
  const page = await rig.localPage(opens);
  expect(await page.ask("whoAmI", {})).toMatchObject({ name: "", role: "admin", hasPassword: false, isSetUp: false });
  await page.ask("addPerson", { name: "Ada", role: "admin", password: PASSWORD });
  await expect(rig.localPage(opens)).rejects.toThrow();
  expect((await page.ask("sessions", {})).sessions.map(({ person }) => person)).toEqual([""]);
  const acts = (await rig.entries()).map((entry) => `${entry.who.name} ${entry.act} ${entry.object} ${entry.result}`);
  expect(acts.slice(0, 2)).toEqual(["root console  done", "root personAdd Ada done"]);
  // A person of the same name has no part in it.
  const root = await rig.page(await rig.signedIn("root", "user"));
  expect((await root.ask("sessions", {})).sessions).toHaveLength(1);
});

test("messages of any kind leave the console as it was, and others served", async () => {
  const rig = await ConsoleRig.open();
  const ada = await rig.page(await rig.signedIn("Ada", "admin"));
  const cookie = await rig.signedIn("Bob", "user");
  const verbs = [...Object.keys(CONSOLE_VERBS), "toString", "__proto__", "none"];
  const request = fc.record(
    { verb: fc.constantFrom(...verbs), name: fc.string(), id: fc.anything(), device: fc.string(), role: fc.anything() },
    { requiredKeys: ["verb"] },
  );
  const text = fc.oneof(
    fc.json(),
    fc.string(),
    fc.record({ id: fc.nat(9), request }).map((message) => JSON.stringify(message)),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 12 }), async (texts) => {
      const { socket } = await rig.dial({ cookie });
      for (const first of [JSON.stringify({ session: "" }), ...texts]) socket.send(first);
      expect((await ada.ask("whoAmI", {})).name).toBe("Ada");
      socket.terminate();
    }),
    { numRuns: 60, seed: 18 },
  );
  expect(rig.security.people.list().map(({ name, role }) => `${name} ${role}`)).toEqual(["Ada admin", "Bob user"]);
  expect(rig.warnings).toEqual([]);
});
