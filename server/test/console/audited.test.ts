// The audit log of the console and of the administrator's socket: each request of their tables leaves an entry, whether
// it was done or refused, and so does who is not let in; no stranger fills the log.
import { expect, test } from "@jest/globals";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { untilClosed } from "@runnel/shared/test/calls/bent-browser.ts";
import { askServer } from "../../src/admin/admin-client.ts";
import { serveAdmin } from "../../src/admin/admin-server.ts";
import { ADMIN_REQUESTS, type AdminName } from "../../src/admin/messages.ts";
import { REPEATED_MS } from "../../src/audit/audit-limits.ts";
import { OWN_FOLDER } from "../../src/auth/own-folder.ts";
import { CONSOLE_VERBS } from "../../src/console/verbs/index.ts";
import { ConsoleRig, PASSWORD } from "./console-rig.ts";

type Verb = keyof typeof CONSOLE_VERBS;
/** A request, and what comes of it: done, or a kind of error. */
type Asked = readonly (readonly [request: object, result: string])[];

/** Verbs that change nothing. Any other is one that does. */
const LOOKS = [
  "audit",
  "auditCsv",
  "browse",
  "devices",
  "invites",
  "offered",
  "people",
  "sessions",
  "settings",
  "view",
  "viewVolumes",
  "volumes",
  "whoAmI",
] as const satisfies readonly Verb[];

/** Requests of each verb that changes something, in this order. */
const CHANGES: Record<Exclude<Verb, (typeof LOOKS)[number]>, Asked> = {
  addPerson: [
    [{ name: "Carl", role: "user" }, "done"],
    [{ name: "Carl", role: "user" }, "Exists"],
  ],
  changePerson: [
    [{ name: "Carl", role: "admin" }, "done"],
    [{ name: "nobody", role: "user" }, "NotFound"],
    [{ name: "Ada", role: "user" }, "Invalid"],
  ],
  removePerson: [
    [{ name: "Carl", revokesDevices: true }, "done"],
    [{ name: "nobody", revokesDevices: false }, "NotFound"],
    [{ name: "Ada", revokesDevices: false }, "Invalid"],
  ],
  invite: [
    [{ volume: "docs", isReadOnly: true, person: "", lastsMs: 60_000 }, "done"],
    [{ volume: "nowhere", isReadOnly: true, person: "", lastsMs: 60_000 }, "NotFound"],
  ],
  withdraw: [[{ invite: "none" }, "NotFound"]],
  setRight: [[{ device: "none", volume: "docs", right: "read" }, "NotFound"]],
  revoke: [[{ device: "none" }, "NotFound"]],
  createVolume: [[{ name: "plans", folder: "/srv/plans" }, "Denied"]],
  setVolume: [[{ name: "docs", isServed: false }, "Invalid"]],
  removeVolume: [[{ name: "nowhere" }, "NotFound"]],
  disconnect: [[{ connection: "7" }, "NotFound"]],
  endSession: [[{ id: "none" }, "NotFound"]],
  setPassword: [
    [{ before: "wrong", password: "the second password" }, "Denied"],
    [{ before: PASSWORD, password: "the second password" }, "done"],
  ],
  signOut: [[{}, "done"]],
};

/** Requests of the administrator's socket. */
const ADMIN: Record<AdminName, Asked> = {
  invite: [
    [{ volume: "docs", isReadOnly: true, person: "", lastsMs: 60_000 }, "done"],
    [{ volume: "nowhere", isReadOnly: true, person: "", lastsMs: 60_000 }, "NotFound"],
  ],
  revoke: [[{ device: "none" }, "NotFound"]],
  right: [[{ device: "none", volume: "docs", right: "read" }, "NotFound"]],
  withdraw: [[{ invite: "none" }, "NotFound"]],
  console: [[{ way: "link" }, "done"]],
  devices: [[{}, "done"]],
  invites: [[{}, "done"]],
  openers: [[{ volume: "docs" }, "done"]],
  audit: [[{ above: 0 }, "done"]],
  auditCsv: [[{ after: 1_000_000 }, "done"]],
};
const ADMIN_LOOKS: readonly AdminName[] = ["devices", "invites", "openers", "audit", "auditCsv"];

/** Results of what was recorded since the last call, the oldest first. */
function listener(rig: ConsoleRig): () => Promise<string[]> {
  let lastN = 0;
  return async () => {
    const { entries } = await rig.security.audit.page({});
    const fresh = entries.filter(({ n }) => n > lastN).toReversed();
    lastN = fresh.at(-1)?.n ?? lastN;
    return fresh.map(({ result }) => result);
  };
}

test("each verb of the console that changes something is recorded when it is answered, done or refused", async () => {
  expect([...LOOKS, ...Object.keys(CHANGES)].toSorted()).toEqual(Object.keys(CONSOLE_VERBS).toSorted());
  const rig = await ConsoleRig.open();
  const ada = await rig.page(await rig.signedIn("Ada", "admin"));
  const heard = listener(rig);
  await heard();
  for (const [verb, asked] of Object.entries(CHANGES))
    for (const [request, result] of asked) {
      expect([verb, request, await ada.kindOf(verb, request)]).toEqual([verb, request, result]);
      // Read without a wait: what is answered is written.
      expect([verb, request, await heard()]).toEqual([verb, request, [result]]);
    }
});

test("each look that is one at others is recorded, and so is one that was refused", async () => {
  const rig = await ConsoleRig.open();
  const ada = await rig.page(await rig.signedIn("Ada", "admin"));
  void ada.kindOf("view", { wants: ["connections"] });
  const { ticket } = await ada.ask("auditCsv", {});
  await rig.ask(`/files/${ticket}`);
  for (const [verb, request, result] of [
    ["devices", {}, "done"],
    ["invites", {}, "done"],
    ["offered", {}, "done"],
    ["offered", { path: "/srv", after: "a" }, "Denied"],
    ["people", {}, "done"],
    ["sessions", {}, "done"],
    ["settings", {}, "done"],
    ["browse", { volume: "nowhere" }, "NotFound"],
    ["browse", { volume: "docs", after: "a" }, "Busy"],
  ] as const)
    expect([verb, await ada.kindOf(verb, request)]).toEqual([verb, result]);
  const said = (await rig.entries()).map(({ act, object, result }) => `${act} ${object} ${result}`);
  expect(said).toEqual([
    "signIn  done",
    "live  done",
    "audit  done",
    "devices  done",
    "invites  done",
    "offered  done",
    "offered /srv Denied",
    "people  done",
    "sessions  done",
    "settings  done",
    "browse nowhere NotFound",
    "browse docs Busy",
  ]);
});

test("each request of the administrator's socket is recorded, a change when it is answered", async () => {
  const rig = await ConsoleRig.open();
  const base = await mkdtemp(join(tmpdir(), "runnel-admin-"));
  const folder = join(base, OWN_FOLDER);
  await mkdir(folder, { mode: 0o700 });
  const { fingerprint, devices, invite, audit } = rig.security;
  const end = await serveAdmin({
    // The socket lies on the real disk, all else on a simulated one.
    security: { fingerprint, devices, invite, audit, folder },
    server: rig.server,
    hostname: "files",
    openConsole: (who, way) => rig.console.openLocal(who, way),
  });
  try {
    expect(Object.keys(ADMIN).toSorted()).toEqual(Object.keys(ADMIN_REQUESTS).toSorted());
    const heard = listener(rig);
    for (const [name, asked] of Object.entries(ADMIN) as [AdminName, Asked][])
      for (const [request, result] of asked) {
        // The same within a minute is counted.
        await rig.clock.advance(REPEATED_MS);
        await heard();
        const came = await askServer(base, name, request as never).then(
          () => "done",
          (error: unknown) => (error as { kind: string }).kind,
        );
        if (ADMIN_LOOKS.includes(name)) await rig.clock.advance(0);
        expect([name, request, came, await heard()]).toEqual([name, request, result, [result]]);
      }
  } finally {
    await end();
    await rm(base, { recursive: true });
  }
});

test("requests that are none, or not of their form, are recorded with who made them", async () => {
  const rig = await ConsoleRig.open();
  const ada = await rig.page(await rig.signedIn("Ada", "admin"));
  const wrong = {
    name: 1,
    id: 1,
    volume: 1,
    path: 1,
    device: 1,
    invite: 1,
    connection: 1,
    before: 1,
    who: 1,
    wants: 1,
  };
  const refused: string[] = [];
  for (const verb of [...Object.keys(CONSOLE_VERBS), "format"]) {
    // They take any request; the second goes on until it is cancelled.
    if (["signOut", "viewVolumes"].includes(verb)) continue;
    const kind = await ada.kindOf(verb, wrong);
    if (kind !== "done") refused.push(`administer ${verb} ${kind}`);
    // Twenty kinds are told apart in a minute; a session that is used goes on.
    await rig.clock.advance(REPEATED_MS);
    await ada.ask("whoAmI", {});
  }
  expect(refused).toContain("administer format Unsupported");
  expect(refused).toContain("administer removePerson Invalid");
  ada.socket.send("this is no message");
  await ada.closed;
  const tried = (await rig.entries()).filter(({ act }) => act === "administer");
  const said = tried.map(({ act, object, result }) => `${act} ${object} ${result}`);
  expect(said).toEqual([...refused, "administer  Invalid"]);
  expect(new Set(tried.map(({ who }) => `${who.kind} ${who.name}`))).toEqual(new Set(["admin Ada"]));
});

test("whoever is not let in is recorded with the address, once a minute however often it is tried", async () => {
  const rig = await ConsoleRig.open();
  const setUp = { token: rig.console.setUpToken ?? "", name: "Ada", password: PASSWORD };
  const enter = async (headers: Record<string, string>): Promise<void> => {
    const { socket } = await rig.dial(headers);
    const closed = untilClosed(socket);
    socket.send(JSON.stringify({ session: "" }));
    await closed;
  };
  await enter({});
  const { opens } = await rig.console.openLocal(
    { kind: "admin", id: "", name: "root", person: "", address: "" },
    "link",
  );
  const { origin } = new URL(opens);
  for (let time = 0; time < 7; time++) {
    await enter({ cookie: `__Host-runnel=${String(time).repeat(43)}` });
    expect((await rig.ask(`/files/${String(time).repeat(43)}`)).status).toBe(403);
    expect((await rig.post("/set-up", { ...setUp, name: " a password in this field" })).status).toBe(400);
    expect((await rig.post("/sign-in", { name: "Ada" })).status).toBe(400);
    const headers = { origin, "content-type": "application/json" };
    const body = JSON.stringify({ ticket: String(time) });
    expect((await fetch(`${origin}/enter`, { method: "POST", headers, body })).status).toBe(403);
  }
  const entries = (await rig.entries()).filter(({ act }) => act !== "console");
  const said = entries.map(({ who, act, object, result, count }) =>
    [who.kind, who.address.replace("::ffff:", ""), act, object, result, count].join(" "),
  );
  // Two doors refuse pages, by cookies and by tickets.
  const all = { "enter  Denied": 14, "download  Denied": 7, "setUp  Invalid": 7, "signIn  Invalid": 7 };
  expect(said.toSorted()).toEqual(
    Object.entries(all)
      .flatMap(([each, times]) => [1, times - 1].map((count) => `unauthenticated 127.0.0.1 ${each} ${count}`))
      .toSorted(),
  );
});
