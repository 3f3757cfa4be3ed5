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
  Control,
  type Device,
  type Json,
  Sandbox,
  type ServerProcess,
  mustRun,
  run,
  LAUNCHER,
  noise,
  onMount,
  refusalOf,
  waitFor,
} from "../src/harness/index.ts";

const PROGRAM = fileURLToPath(new URL("../src/objects/program.ts", import.meta.url));
const FILE_BYTES = 3_000_000;
const LONG = process.env["RUNNEL_LONG"] === "1";

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

  // It comes once: the second time it is here.
  await ada.ask(["get", uri, local("first")]);
  const { received } = await moved(drive);
  await ada.ask(["get", uri, local("second")]);
  expect((await moved(drive)).received).toBe(received);
  expect(digest(local("second"))).toBe(digest(file));

  // No drive: the server of the hint is asked.
  const ben = sandbox.device("ben");
  await logIn(ben, one, "data", "docs", true);
  await ben.ask(["get", uri, local("got")]);
  expect(digest(local("got"))).toBe(digest(file));
  const toStdout = 'cd /; "$@" | sha256sum';
  const piped = await run("bash", ["-c", toStdout, "bash", process.execPath, LAUNCHER, "get", uri], { env: ben.env });
  expect(piped.stdout).toContain(digest(file));
  expect(await refused(ben, "put", file, "--to", urlOf(one, "docs"))).toBe("ReadOnly");

  const eve = sandbox.device("eve");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("Denied");
  await logIn(eve, one, "data", "photos");
  expect(await refused(eve, "get", uri, local("stolen"))).toBe("NotFound");
  expect(existsSync(local("stolen"))).toBe(false);
});

test("a program puts a stream and gets it in order and out of order; what it ends is ended, and nothing is left", async () => {
  const program = async (...args: string[]): Promise<Json> => {
    const options = { env: ada.env, deadlineMs: 50_000 };
    const { stdout } = await mustRun(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", PROGRAM, ...args],
      options,
    );
    return JSON.parse(stdout) as Json;
  };
  const size = 12 * 1024 * 1024;
  const done = await program("there", "12");
  expect(done).toMatchObject({ size, putDone: size, getDone: size, isSame: true });
  const kinds = ["Interrupted", "Interrupted", "Interrupted"];
  expect(await program("interrupted", done["uri"] as string)).toEqual({ kinds, bytes: size });
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

(LONG ? test : test.skip)(
  "a put goes on after its line broke, and sends little twice; one that is ended in the middle leaves nothing",
  async () => {
    const link = await sandbox.startEmulator(one.port, { upBitsPerSecond: 24e6, downBitsPerSecond: 24e6, rttMs: 20 });
    const zoe = sandbox.device("zoe");
    const asked = {
      volume: "docs",
      isReadOnly: false,
      person: "",
      lastsMs: 3_600_000,
      address: `127.0.0.1:${link.port}`,
    };
    await zoe.ask(["login", (await askServer(sandbox.path("data"), "invite", asked)).invite]);
    const to = `wss://127.0.0.1:${link.port}/docs`;
    const agent = await Control.of(zoe);
    try {
      const halfOf = (bytes: number): Promise<unknown> =>
        waitFor(async () => (await link.counts()).up.deliveredBytes > bytes / 2, 20_000, "half of the put");
      // The volume is open from here on.
      await agent.ask({ verb: "put", file: local("tiny", noise(1000, 10)), to });
      await link.resetCounts();
      // Another device has put this already: its recipe comes here, no byte of it goes there.
      const theirs = local("theirs", noise(FILE_BYTES, 13));
      await ada.ask(["put", theirs, "--to", drive]);
      expect(await agent.ask({ verb: "put", file: theirs, to })).toMatchObject({ wasThere: true });
      expect((await link.counts()).up.sentBytes + (await link.counts()).down.sentBytes).toBeLessThan(FILE_BYTES / 50);
      await link.resetCounts();
      const file = local("long", noise(2 * FILE_BYTES, 11));
      const put = agent.ask({ verb: "put", file, to });
      put.catch(() => undefined);
      await halfOf(2 * FILE_BYTES);
      await link.cut("accept");
      const { oid } = (await put) as { oid: string };
      expect((await link.counts()).up.sentBytes).toBeLessThan(2 * FILE_BYTES + 2_500_000);
      await waitFor(() => existsSync(sandbox.path("served", "docs", OBJECTS_FOLDER, oid)), 10_000, "the plain file");

      const { rows } = (await zoe.ask(["savings", "--by", "drive"])) as { rows: Json[] };
      expect(rows).toMatchObject([{ url: to, mountpoint: "", savings: { writtenBytes: 1000 + 2 * FILE_BYTES } }]);

      const names = async (): Promise<string> => JSON.stringify(await zoe.ask(["find", to, "-type", "f"]));
      const before = await names();
      // Bytes are read once the name is there: it is ended in the middle of them.
      await agent.firstPart({ verb: "put", file: local("ended", noise(2 * FILE_BYTES, 12)), to });
      await waitFor(async () => (await names()) === before, 10_000, "the name to go");
    } finally {
      agent.close();
    }
  },
);

/** A request of the control protocol, and the kind of error that it is refused with. */
type Wrong = [request: Json, kind: string];

test("what is wrong is refused by name, and leaves nothing: URIs, files, places, and other bytes under an OID", async () => {
  const agent = await Control.of(ada);
  try {
    const file = local("small", noise(50_000, 3));
    const put = { verb: "put", file, to: drive };
    const { uri, oid } = (await agent.ask(put)) as { uri: string; oid: string };
    const get = { verb: "get", uri, file: local("wrong") };
    const copy = { verb: "copy", from: file, to: local("wrong") };
    const wrong: Wrong[] = [
      [{ ...get, uri: uri.replace("size=", "size=1") }, "Invalid"],
      [{ ...get, uri: `${uri}&other=1` }, "Invalid"],
      [{ ...get, uri: "x".repeat(10_000) }, "Invalid"],
      [{ ...get, uri: uri.replace(oid, "0".repeat(64)) }, "NotFound"],
      [{ ...get, uri: `runnel:${"0".repeat(64)}?size=1&hint=wss%3A%2F%2F127.0.0.1%3A9%2Fdocs` }, "Denied"],
      [{ ...get, file: `${drive}/wrong` }, "Invalid"],
      [{ ...get, file: sandbox.folder }, "IsFolder"],
      [{ ...get, file: "wrong" }, "Invalid"],
      [{ ...get, file: `${sandbox.folder}/nothing/wrong` }, "NotFound"],
      [{ ...get, file: 5 }, "Invalid"],
      [{ ...get, mode: 0o1000 }, "Invalid"],
      [{ ...get, isInOrder: "yes" }, "Invalid"],
      [{ ...put, file: local("nothing") }, "NotFound"],
      [{ ...put, file: sandbox.folder }, "IsFolder"],
      [{ ...put, file: `${drive}/.runnel-objects` }, "IsFolder"],
      [{ ...put, file: "small" }, "Invalid"],
      [{ ...put, file: "/dev/null" }, "Unsupported"],
      [{ ...put, file: null }, "Invalid"],
      [{ ...put, to: "wss://127.0.0.1:9/docs" }, "Denied"],
      [{ ...put, to: "https://127.0.0.1/docs" }, "Invalid"],
      [{ ...put, to: sandbox.folder }, "NotFound"],
      [{ ...put, to: 5 }, "Invalid"],
      [{ ...put, lifeMs: 0 }, "Invalid"],
      [{ ...put, lifeMs: 1e15 }, "Invalid"],
      [{ ...copy, from: "wss://127.0.0.1/../docs" }, "Invalid"],
      [{ ...copy, from: local("nothing") }, "NotFound"],
      [{ ...copy, from: sandbox.folder }, "IsFolder"],
      [{ ...copy, to: `${urlOf(one, "docs")}/nothing/x` }, "NotFound"],
      [{ ...copy, to: `${urlOf(one, "docs")}/%2e%2e/x` }, "Invalid"],
      [{ ...copy, to: [] }, "Invalid"],
      [{ ...copy, isRecursive: 3 }, "Invalid"],
    ];
    for (const [request, kind] of wrong)
      await expect(agent.ask(request, { deadlineMs: 10_000 })).rejects.toThrow(new RegExp(`^${kind}: \\S.*\\.`));
    expect(await refused(ada, "put", file, "--for", "never")).toBe("Invalid");
    expect(await refused(ada, "get", uri)).toBe("Invalid");

    await onMount('head -c 50000 /dev/zero > "$1/.runnel-objects/$2"', [drive, oid]);
    await expect(agent.ask(get)).rejects.toThrow(/^Corrupt: /);
    expect(existsSync(local("wrong"))).toBe(false);
    expect(readdirSync(sandbox.folder).filter((name) => name.startsWith(".runnel-"))).toEqual([]);
    expect(await agent.ask(put)).toMatchObject({ uri, wasThere: false });
    await agent.ask({ ...get, file: local("right") });

    // Several at the same moment are one object, and no conflict.
    local("same", noise(200_000, 4));
    const atOnce = await Promise.all([1, 2, 3].map(() => agent.ask({ ...put, file: local("same") })));
    expect(new Set(atOnce.map((each) => each["uri"])).size).toBe(1);
    await agent.ask({ verb: "get", uri: atOnce[0]?.["uri"], file: local("same-got") });
    expect(digest(local("same-got"))).toBe(digest(local("same")));
    const { mounts } = (await ada.status()) as { mounts: { conflicts: unknown[]; problems: unknown[] }[] };
    for (const { conflicts, problems } of mounts)
      expect({ conflicts, problems }).toEqual({ conflicts: [], problems: [] });
    expect(digest(local("right"))).toBe(digest(file));
  } finally {
    agent.close();
  }
});
