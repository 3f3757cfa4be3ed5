// `runnel mount` and the verbs about drives, used wrongly or where they cannot work: one sentence each, and nothing
// stays behind.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { Sandbox, isMounted, mountsBelow, refusalOf } from "../src/harness/index.ts";
import type { Device, Refusal, ServerProcess } from "../src/harness/index.ts";

const LONG = "a".repeat(300);
const LONGER = "a".repeat(9000);

let sandbox: Sandbox;
let server: ServerProcess;
let device: Device;
let url: string;
/** Takes connections and says nothing. */
let mute: Server;

beforeAll(async () => {
  sandbox = new Sandbox();
  const served = sandbox.makeFolder("served");
  mkdirSync(join(served, "inside"));
  server = await sandbox.startServer({ volumes: { docs: served, two: sandbox.makeFolder("two") } });
  url = `${server.url}/docs`;
  device = sandbox.device();
  sandbox.makeFolder("drive");
  await device.mount(url, sandbox.path("drive"));
  sandbox.makeFolder("empty");
  writeFileSync(join(sandbox.makeFolder("full"), "file"), "");
  writeFileSync(sandbox.path("file"), "");
  symlinkSync("nowhere", sandbox.path("dangling"));
  symlinkSync("circle", sandbox.path("circle"));
  symlinkSync("drive/folder", sandbox.path("into"));
  mute = createServer();
  await new Promise<void>((done) => mute.listen(0, "127.0.0.1", done));
}, 60_000);

afterAll(async () => {
  mute.close();
  await sandbox.cleanup();
}, 60_000);

async function refused(args: readonly string[], deadlineMs = 20_000): Promise<Refusal> {
  const refusal = refusalOf(await device.runnel([...args, "--json"], { cwd: sandbox.folder, deadlineMs }));
  // The sandbox's folder has another name each time.
  return {
    ...refusal,
    sentence: refusal.sentence.replaceAll(sandbox.folder, "~").replaceAll(server.url, "ws://SERVER"),
  };
}

describe("an address", () => {
  const WRITE = "is not the address of a volume. Write wss://HOST:PORT/VOLUME: wss://files.example.org:7473/docs.";
  test.each(["", "docs", "http://127.0.0.1:7473/docs", "ws://127.0.0.1:7473/%ff"])("%j is none", async (typed) => {
    expect(await refused(["mount", typed, "empty"])).toEqual({
      code: 2,
      kind: "Invalid",
      sentence: `"${typed}" ${WRITE}`,
    });
  });

  test.each([
    ["ws://127.0.0.1:7473/do\ncs", `"ws://127.0.0.1:7473/do\\x0acs" ${WRITE}`],
    ["ws://127.0.0.1:7473/\u001b[31mdocs", `"ws://127.0.0.1:7473/\\x1b[31mdocs" ${WRITE}`],
    [`ws://127.0.0.1:7473/${"a".repeat(2000)}`, `"ws://127.0.0.1:7473/${"a".repeat(43)}…${"a".repeat(63)}" ${WRITE}`],
  ])("with what a terminal should not be sent: %#", async (typed, sentence) => {
    expect(await refused(["mount", typed, "empty"])).toEqual({ code: 2, kind: "Invalid", sentence });
  });

  test("longer than anything is refused before the agent sees it", async () => {
    const sentence = "A path, an address or a search is too long. Use shorter ones.";
    for (const args of [
      ["mount", `ws://127.0.0.1:7473/${LONGER}`, "empty"],
      ["unmount", `/${LONGER}`],
      ["find", url, "-name", LONGER],
    ])
      expect(await refused(args)).toEqual({ code: 2, kind: "Invalid", sentence });
  });

  test("of a volume that the server does not have", async () => {
    expect(await refused(["mount", `${server.url}/Docs`, "empty"])).toEqual({
      code: 1,
      kind: "NotFound",
      sentence: 'The server has no volume "Docs". Check the last part of the address.',
    });
    expect(await refused(["find", `${server.url}/d%C3%B5cs`])).toMatchObject({ code: 1, kind: "NotFound" });
  });

  test("where no server is, or none of ours", async () => {
    expect(await refused(["mount", "ws://127.0.0.1:1/docs", "empty"])).toEqual({
      code: 3,
      kind: "Unreachable",
      sentence: "Cannot reach a server at 127.0.0.1:1: nothing listens there.",
    });
    const { port } = mute.address() as { port: number };
    sandbox.shareSecret(server.port, port);
    expect(await refused(["mount", `ws://127.0.0.1:${port}/docs`, "empty"], 40_000)).toMatchObject({
      code: 3,
      kind: "Unreachable",
      sentence: `127.0.0.1:${port} takes connections but does not answer as a server.`,
    });
  }, 60_000);

  test("that plain ws must not be spoken to", async () => {
    for (const host of ["192.0.2.1", "nosuch.invalid", "0.0.0.0"])
      expect(await refused(["mount", `ws://${host}/docs`, "empty"])).toEqual({
        code: 4,
        kind: "Denied",
        sentence: `Runnel sends nothing unencrypted to other machines: use wss://${host}, and log in with an invite from whoever runs the server.`,
      });
  });
});

describe("a mount point", () => {
  test.each<[string, string, number, string, string]>([
    ["that is full", "full", 1, "NotEmpty", "~/full is not empty. Choose an empty folder."],
    ["that is missing", "a b", 1, "NotFound", "~/a b does not exist. Make it first: mkdir '~/a b'"],
    [
      "in a missing folder",
      "missing/deeper",
      1,
      "NotFound",
      "~/missing does not exist. Choose another path, or make this one first: mkdir -p ~/missing/deeper",
    ],
    ["that is a file", "file", 1, "NotFolder", "~/file is not a folder. Choose an empty folder."],
    ["in a file", "file/x", 1, "NotFolder", "~/file is not a folder. Choose another path."],
    [
      "that is a symlink to nothing",
      "dangling",
      1,
      "NotFound",
      "~/nowhere does not exist. Make it first: mkdir ~/nowhere",
    ],
    ["that is a circle", "circle", 1, "NotFolder", "~/circle is a circle of symlinks. Choose another path."],
    ["with a long name", LONG, 1, "NameTooLong", `~/${LONG} is too long for a path. Choose a shorter one.`],
    ["without a name", "", 2, "Invalid", "A path is empty. Name a folder."],
    ["with a newline", "x\ny", 1, "NotFound", "~/x\\x0ay does not exist. Make it first: mkdir '~/x\\x0ay'"],
    ["that is a drive", "drive", 1, "Exists", "ws://SERVER/docs is already mounted at ~/drive."],
    [
      "in a drive",
      "drive/folder",
      2,
      "Invalid",
      "~/drive/folder lies inside the drive ~/drive. Choose a folder outside of it.",
    ],
    [
      "that a symlink puts into a drive",
      "into/deep",
      2,
      "Invalid",
      "~/drive/folder/deep lies inside the drive ~/drive. Choose a folder outside of it.",
    ],
    [
      "in a served folder",
      "served/inside",
      2,
      "Invalid",
      "~/served/inside lies in ~/served, which a server serves. Choose a folder outside of it.",
    ],
    [
      "that is a served folder",
      "served",
      2,
      "Invalid",
      "~/served lies in ~/served, which a server serves. Choose a folder outside of it.",
    ],
    [
      "that would hide the agent's home",
      "home",
      2,
      "Invalid",
      "~/home would hide Runnel's own files in ~/home/a/cache. Choose another folder.",
    ],
    [
      "that something else is mounted at",
      "/proc",
      1,
      "Exists",
      "Something else is already mounted at /proc. Choose another folder.",
    ],
    ["that is the root", "/", 1, "Exists", "Something else is already mounted at /. Choose another folder."],
  ])("%s is refused", async (_, mountpoint, code, kind, sentence) => {
    expect(await refused(["mount", url, mountpoint])).toEqual({ code, kind, sentence });
  });

  test("through FSKit is of macOS", async () => {
    expect(await refused(["mount", url, "empty", "--fskit"])).toEqual({
      code: 1,
      kind: "Unavailable",
      sentence: "FSKit is of macOS: mount without it.",
    });
  });

  test("that is the drive of another volume, or of another agent", async () => {
    expect(await refused(["mount", `${server.url}/two`, "drive"])).toEqual({
      code: 1,
      kind: "Exists",
      sentence: "~/drive is the drive of ws://SERVER/docs. Unmount it first: runnel unmount ~/drive",
    });
    const other = sandbox.device("b");
    const ran = await other.runnel(["mount", url, sandbox.path("drive"), "--json"]);
    expect(refusalOf(ran)).toMatchObject({
      code: 1,
      kind: "Exists",
      sentence: expect.stringContaining("another agent"),
    });
    for (const verb of ["unmount", "flush", "stats"])
      expect(refusalOf(await other.runnel([verb, sandbox.path("drive"), "--json"]))).toMatchObject({
        code: 4,
        kind: "Denied",
        sentence: expect.stringContaining("is a drive of another user's agent"),
      });
    expect(isMounted(sandbox.path("drive"))).toBe(true);
  }, 60_000);

  test("with any name that a folder can have is taken", async () => {
    for (const name of ["höhe ☃", "nl\nesc\u001b[31m", 'a,b\\c"d', "-dash", "tab\tend "]) {
      const folder = sandbox.makeFolder("odd", name);
      expect(await device.mount(url, folder)).toMatchObject({ mount: { mountpoint: folder } });
      const { stdout, code } = await device.runnel(["status"]);
      // eslint-disable-next-line no-control-regex
      expect({ code, isSafe: !/[\u0000-\u0009\u000b-\u001f]/.test(stdout) }).toEqual({ code: 0, isSafe: true });
      await device.unmount(folder);
    }
    expect(mountsBelow(sandbox.path("odd"))).toEqual([]);
  }, 60_000);
});

describe("a place for Runnel's own files", () => {
  test.each<[string, string, number, string, string]>([
    ["a file", "file", 1, "NotFolder", "~/file is no folder, or leads through a file. Choose another path."],
    ["a path through a file", "file/x", 1, "NotFolder", "~/file is not a folder. Choose another path."],
    [
      "a drive",
      "drive/cache",
      2,
      "Invalid",
      "~/drive/cache lies inside the drive ~/drive: Runnel cannot keep its own files there. Choose a folder on a local disk.",
    ],
    [
      "a folder that takes none",
      "/proc/x",
      1,
      "NotFound",
      "/proc/x cannot be made. Choose a path where you may write.",
    ],
    [
      "the mount point",
      "empty",
      2,
      "Invalid",
      "~/empty would hide Runnel's own files in ~/empty. Choose another folder.",
    ],
    [
      "below the mount point",
      "empty/x/y",
      2,
      "Invalid",
      "~/empty would hide Runnel's own files in ~/empty/x/y. Choose another folder.",
    ],
    ["nothing", "", 2, "Invalid", "A path is empty. Name a folder."],
  ])("that is %s: no cache", async (_, cache, code, kind, sentence) => {
    expect(await refused(["mount", url, "empty", "--cache", cache])).toEqual({ code, kind, sentence });
  });

  test.each<[string, string, number, string, string]>([
    ["a file", "file", 1, "NotFolder", "~/file is no folder, or leads through a file. Choose another path."],
    [
      "a drive",
      "drive/home",
      2,
      "Invalid",
      "~/drive/home lies inside the drive ~/drive: Runnel cannot keep its own files there. Choose a folder on a local disk.",
    ],
    [
      "a folder that takes none",
      "/proc/x",
      1,
      "NotFound",
      "/proc/x cannot be made. Choose a path where you may write.",
    ],
  ])("that is %s: no home", async (_, home, code, kind, sentence) => {
    const env = { ...device.env, RUNNEL_HOME: home };
    const ran = await device.runnel(["mount", url, "empty", "--json"], { cwd: sandbox.folder, env });
    expect(refusalOf({ ...ran, stderr: ran.stderr, stdout: ran.stdout })).toEqual({
      code,
      kind,
      sentence: sentence.replaceAll("~", sandbox.folder),
    });
  });
});

describe("a drive that is not there", () => {
  test.each([
    ["unmount", "full"],
    ["unmount", "nothing"],
    ["unmount", "/"],
    ["flush", "full"],
    ["stats", "full"],
    ["find", "full"],
  ])("%s %s says so", async (verb, path) => {
    const shown = path === "/" ? "/" : `~/${path}`;
    expect(await refused([verb, path])).toEqual({
      code: 1,
      kind: "NotFound",
      sentence: `Runnel has no drive at ${shown}. Run "runnel status" to see the drives there are.`,
    });
  });

  test("is not unmounted twice", async () => {
    await device.mount(`${server.url}/two`, sandbox.path("empty"));
    expect(execFileSync("cat", ["/proc/self/mountinfo"], { encoding: "utf8" })).toContain(`${sandbox.path("empty")} `);
    await device.unmount(sandbox.path("empty"));
    expect(await refused(["unmount", "empty"])).toMatchObject({ code: 1, kind: "NotFound" });
  });
});

describe("a search", () => {
  test.each([
    ["-foo"],
    ["-name"],
    ["("],
    ["-size", "99999999999999999999"],
    ["-newer", "yesterday"],
    [...Array.from({ length: 200 }, () => "not"), "-type", "f"],
  ])("for %j is none", async (...words) => {
    expect(await refused(["find", url, ...words])).toMatchObject({ code: 2, kind: "Invalid" });
  });
});
