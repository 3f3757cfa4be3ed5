// Volumes in the console for somebody who is no admin: those that an own device has a right on, and no place on disk.
import { expect, test } from "@jest/globals";
import { browse, volumes } from "../../src/console/verbs/volumes.ts";
import type { Caller, ConsoleDeps } from "../../src/console/console-verb.ts";

const DEVICES = [
  { person: "Bob", grants: [{ volume: "docs", right: "read" }] },
  { person: "Bob", grants: [{ volume: "old", right: "read" }], revokedMs: 1 },
  { person: "Ada", grants: [{ volume: "plans", right: "write" }] },
];

let noted: string[] = [];
const deps = {
  security: {
    devices: { list: () => DEVICES },
    audit: { note: ({ act, object, result }: Record<string, string>) => noted.push(`${act} ${object} ${result}`) },
  },
  engines: {
    overview: { volumes: async () => ["docs", "old", "plans"].map((name) => ({ name, folder: `/srv/${name}` })) },
    browse: async () => ({ rows: [], after: null }),
  },
} as unknown as ConsoleDeps;

function caller(name: string, role: "admin" | "user"): Caller {
  return { name, role, actor: { kind: "person", id: "", name, person: name, address: "" } } as unknown as Caller;
}

const call = { part: async () => undefined, signal: new AbortController().signal };

async function seen(who: Caller): Promise<unknown> {
  const shown = await volumes.handle(deps, {}, who, call);
  return shown.volumes.map(({ name, folder }) => [name, folder]);
}

async function canBrowse(who: Caller, volume: string): Promise<string> {
  const asked = browse.handle(deps, { volume, path: "", limit: 500 }, who, call);
  return asked.then(
    () => "done",
    (error: unknown) => (error as { kind: string }).kind,
  );
}

test("somebody who is no admin sees volumes of own devices that are not revoked, and nothing of others", async () => {
  noted = [];
  const bob = caller("Bob", "user");
  expect(await seen(bob)).toEqual([["docs", ""]]);
  for (const [volume, kind] of [
    ["docs", "done"],
    ["old", "NotFound"],
    ["plans", "NotFound"],
    ["nothing", "NotFound"],
  ] as const)
    expect([volume, await canBrowse(bob, volume)]).toEqual([volume, kind]);
  expect(noted).toEqual(["browse old NotFound", "browse plans NotFound", "browse nothing NotFound"]);
});

test("an admin sees all, and where they lie", async () => {
  expect(await seen(caller("Ada", "admin"))).toEqual([
    ["docs", "/srv/docs"],
    ["old", "/srv/old"],
    ["plans", "/srv/plans"],
  ]);
  expect(await canBrowse(caller("", "admin"), "plans")).toBe("done");
});
