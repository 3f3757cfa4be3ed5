// Objects with real processes: two servers with TLS, devices with other rights, drives, and programs that use the
// command line and the client.
import { afterAll, beforeAll, expect, jest, test } from "@jest/globals";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { askServer } from "@runnel/server/admin";
import { OBJECTS_FOLDER, UNTIL_XATTR } from "@runnel/shared";
import {
  type Device,
  type Json,
  Sandbox,
  type ServerProcess,
  mustRun,
  noise,
  onMount,
  refusalOf,
  waitFor,
} from "../src/harness/index.ts";

const PROGRAM = fileURLToPath(new URL("../src/objects/program.ts", import.meta.url));
const FILE_BYTES = 3_000_000;

jest.setTimeout(60_000);

let sandbox: Sandbox;
let one: ServerProcess;
let other: ServerProcess;
/** May change docs at the one server, and the archive at the other. */
let ada: Device;
let drive: string;

beforeAll(async () => {
  sandbox = new Sandbox();
  const served = (name: string): Record<string, string> => ({ [name]: sandbox.makeFolder("served", name) });
  one = await sandbox.startServer({ volumes: { ...served("docs"), ...served("photos") }, listen: "0.0.0.0:0" });
  const data = sandbox.makeFolder("data-other");
  other = await sandbox.startServer({ volumes: served("archive"), listen: "0.0.0.0:0", data });
  ada = sandbox.device("ada");
  await logIn(ada, one, "data", "docs");
  await logIn(ada, other, "data-other", "archive");
  drive = sandbox.makeFolder("drive");
  await ada.mount(urlOf(one, "docs"), drive);
});

afterAll(() => sandbox.cleanup(), 60_000);

async function logIn(
  device: Device,
  to: ServerProcess,
  data: string,
  volume: string,
  isReadOnly = false,
): Promise<void> {
  const asked = { volume, isReadOnly, person: "", lastsMs: 3_600_000, address: `127.0.0.1:${to.port}` };
  await device.ask(["login", (await askServer(sandbox.path(data), "invite", asked)).invite]);
}

const urlOf = ({ port }: ServerProcess, volume: string): string => `wss://127.0.0.1:${port}/${volume}`;

function local(name: string, bytes?: Uint8Array): string {
  const path = sandbox.path(name);
  if (bytes !== undefined) writeFileSync(path, bytes);
  return path;
}

const digest = (path: string): string => createHash("sha256").update(readFileSync(path)).digest("hex");

async function refused(of: Device, ...args: string[]): Promise<string> {
  return refusalOf(await of.runnel([...args, "--json"])).kind;
}

/** Bytes of contents that a drive has sent and received. */
async function moved(mountpoint: string): Promise<{ sent: number; received: number }> {
  const { mounts } = (await ada.stats(mountpoint)) as unknown as {
    mounts: [{ statistics: { sent: { data: number }; received: { data: number } } }];
  };
  const [{ statistics }] = mounts;
  return { sent: statistics.sent.data, received: statistics.received.data };
}

test("what is put is a file of the volume; the same again sends nothing; who may read the volume gets it, nobody else", async () => {
  const file = local("report", noise(FILE_BYTES, 1));
  const put = await ada.ask(["put", file, "--for", "2d"]);
  const { uri, oid } = put as { uri: string; oid: string };
  expect(uri).toBe(`runnel:${oid}?size=${FILE_BYTES}&hint=${encodeURIComponent(urlOf(one, "docs"))}`);
  const plain = sandbox.path("served", "docs", OBJECTS_FOLDER, oid);
  await waitFor(() => existsSync(plain) && statSync(plain).size === FILE_BYTES, 10_000, "the plain file");
  expect(digest(plain)).toBe(digest(file));
  // Programs see it on the drive.
  const asked = 'python3 -c "import os, sys; print(os.getxattr(*sys.argv[1:]).decode())" "$1/.runnel-objects/$2" "$3"';
  const until = await onMount(asked, [drive, oid, UNTIL_XATTR]);
  expect(Number(until) * 1000).toBe(put["untilMs"]);
  expect(await onMount('sha256sum < "$1/.runnel-objects/$2"', [drive, oid])).toContain(digest(file));

  const before = await moved(drive);
  expect(await ada.ask(["put", file, "--for", "1d"])).toMatchObject({ uri, wasThere: true, untilMs: put["untilMs"] });
  expect(await moved(drive)).toEqual(before);

  // No drive: the server of the hint is asked.
  const ben = sandbox.device("ben");
  await logIn(ben, one, "data", "docs", true);
  await ben.ask(["get", uri, local("got")]);
  expect(digest(local("got"))).toBe(digest(file));
  expect((await ben.runnel(["get", uri])).stdout).toHaveLength((await ada.runnel(["get", uri])).stdout.length);
  expect(await refused(ben, "put", file, "--to", urlOf(one, "docs"))).toBe("ReadOnly");

  const eve = sandbox.device("eve");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("Denied");
  await logIn(eve, one, "data", "photos");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("NotFound");
  expect(existsSync(local("stolen"))).toBe(false);
});

test("a program puts a stream and gets it in order and out of order; what it ends is ended, and nothing is left", async () => {
  const run = async (...args: string[]): Promise<Json> => {
    const options = { env: ada.env, deadlineMs: 50_000 };
    const { stdout } = await mustRun(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", PROGRAM, ...args],
      options,
    );
    return JSON.parse(stdout) as Json;
  };
  const size = 12 * 1024 * 1024;
  const done = await run("there", "12");
  expect(done).toMatchObject({ size, putDone: size, getDone: size, isSame: true });
  const kinds = ["Interrupted", "Interrupted", "Interrupted"];
  expect(await run("interrupted", done["uri"] as string)).toEqual({ kinds, bytes: size });
  expect(readdirSync(join(ada.home, "spool"))).toEqual([]);
});

test("a copy to another server takes only what that lacks; back to a file, and within a volume, nothing moves twice", async () => {
  const archived = Buffer.from(noise(FILE_BYTES, 2));
  const edited = Buffer.concat([archived.subarray(0, 1_000_000), Buffer.from("new"), archived.subarray(1_000_000)]);
  mkdirSync(sandbox.path("served", "docs", "plans"), { recursive: true });
  writeFileSync(sandbox.path("served", "docs", "plans", "edited"), edited);
  await onMount('until [ -s "$1/plans/edited" ]; do sleep 0.1; done', [drive]);
  const archive = sandbox.makeFolder("archive");
  await ada.mount(urlOf(other, "archive"), archive);
  await ada.ask(["cp", local("archived", archived), `${archive}/old`]);
  const before = [await moved(drive), await moved(archive)];
  expect(await ada.ask(["cp", "-r", `${drive}/plans`, `${urlOf(other, "archive")}/plans`])).toMatchObject({
    files: 1,
    folders: 1,
    bytes: edited.length,
    skipped: [],
  });
  expect(await onMount('sha256sum < "$1/plans/edited"', [archive])).toContain(
    createHash("sha256").update(edited).digest("hex"),
  );
  const after = [await moved(drive), await moved(archive)];
  // The chunk of the edit, or some around it: of the source they are fetched, to the target they are sent.
  expect((after[0]?.received ?? 0) - (before[0]?.received ?? 0)).toBeLessThan(300_000);
  expect((after[1]?.sent ?? 0) - (before[1]?.sent ?? 0)).toBeLessThan(300_000);

  await ada.ask(["cp", `${archive}/plans/edited`, `${archive}/again`]);
  expect((await moved(archive)).sent).toBe(after[1]?.sent);
  await ada.ask(["cp", `${archive}/again`, local("back")]);
  expect(Buffer.compare(readFileSync(local("back")), edited)).toBe(0);
  expect(await refused(ada, "cp", `${drive}/plans`, `${drive}/plans`)).toBe("IsFolder");
  expect(await refused(ada, "cp", "-r", drive, `${drive}/plans`)).toBe("Invalid");
  expect(await refused(ada, "cp", `${drive}/nothing`, local("x"))).toBe("NotFound");
});

test("what is wrong is refused by name, and leaves nothing: URIs, files, places, and other bytes under an OID", async () => {
  const file = local("small", noise(50_000, 3));
  const { uri, oid } = (await ada.ask(["put", file, "--to", drive])) as { uri: string; oid: string };
  expect(await refused(ada, "get", uri.replace("size=", "size=1"), local("wrong"))).toBe("Invalid");
  expect(await refused(ada, "get", `${uri}&other=1`, local("wrong"))).toBe("Invalid");
  expect(await refused(ada, "get", uri.replace(oid, "0".repeat(64)), local("wrong"))).toBe("NotFound");
  expect(await refused(ada, "get", uri, `${drive}/wrong`)).toBe("Invalid");
  expect(await refused(ada, "get", uri, sandbox.folder)).toBe("IsFolder");
  expect(await refused(ada, "put", local("nothing"), "--to", drive)).toBe("NotFound");
  expect(await refused(ada, "put", sandbox.folder, "--to", drive)).toBe("IsFolder");
  expect(await refused(ada, "put", file, "--to", "wss://127.0.0.1:9/docs")).toBe("Denied");
  expect(await refused(ada, "put", file, "--for", "never")).toBe("Invalid");

  await onMount('head -c 50000 /dev/zero > "$1/.runnel-objects/$2"', [drive, oid]);
  expect(await refused(ada, "get", uri, local("wrong"))).toBe("Corrupt");
  expect(existsSync(local("wrong"))).toBe(false);
  expect(readdirSync(sandbox.folder).filter((name) => name.startsWith(".runnel-"))).toEqual([]);
  expect(await ada.ask(["put", file, "--to", drive])).toMatchObject({ uri, wasThere: false });
  await ada.ask(["get", uri, local("right")]);
  expect(digest(local("right"))).toBe(digest(file));
});
