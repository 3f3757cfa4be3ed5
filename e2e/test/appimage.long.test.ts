// Makes the AppImage with the Electron of the tests and a stand-in for its runtime, and lives with it in a clean Debian
// as an ordinary user does: the command line, a drive that outlives the file that mapped it, the window, a newer one.
import { chmodSync, copyFileSync, chownSync, openSync, closeSync, readFileSync, readdirSync, writeSync } from "node:fs";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureTestElectron } from "../../scripts/tools.mjs";
import { Sandbox, mustRun, run, waitFor } from "../src/harness/index.ts";
import { DebianRoot, debianObstacle } from "../src/installers/debian-root.ts";
import { type Pack, freePort, pack } from "../src/installers/packs.ts";

const OLD = "7.0.0";
const NEW = "7.0.1";
const ALL_MS = 25 * 60_000;
const INSTALL_MS = 300_000;
const USER = 54_323;
const SHOWN_MS = 120_000;
const RUNTIME = fileURLToPath(new URL("../src/installers/appimage_runtime.cc", import.meta.url));
/** Stands at this place in every AppImage of type 2. */
const MAGIC = { at: 8, bytes: "AI\u0002" };
const COPIES = "home/ada/.local/share/runnel/appimage";
/** Packages for drives, and the one by which the stand-in unpacks. */
const PACKAGES = "procps fuse3 squashfs-tools";

const why = debianObstacle();
const testInDebian = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
let debian: DebianRoot;
let packs: Record<"old" | "again" | "new", Pack>;
let kinds: string[];

beforeAll(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox(ALL_MS);
  const runtime = sandbox.path("runtime");
  await mustRun("g++", ["-std=c++20", "-O1", "-o", runtime, RUNTIME], { deadlineMs: INSTALL_MS });
  const file = openSync(runtime, "r+");
  writeSync(file, MAGIC.bytes, MAGIC.at, "latin1");
  closeSync(file);
  kinds = ["appimage", "--electron", dirname(ensureTestElectron()), "--runtime", runtime];
  const one = async (version: string, folder: string): Promise<Pack> => {
    const [made] = await pack(kinds, version, sandbox.makeFolder(folder));
    if (made === undefined) throw new Error("No AppImage was made.");
    return made;
  };
  packs = { old: await one(OLD, "old"), again: await one(OLD, "again"), new: await one(NEW, "new") };
  debian = await DebianRoot.make(sandbox);
  await debian.mustRun("apt-get -qq update", { deadlineMs: INSTALL_MS });
  await debian.mustRun(`apt-get -qq install -y --no-install-recommends ${PACKAGES} 2>&1`, { deadlineMs: INSTALL_MS });
  await debian.mustRun("useradd --create-home ada");
  for (const { path } of [packs.old, packs.new]) {
    const to = debian.path(`home/ada/${basename(path)}`);
    copyFileSync(path, to);
    chmodSync(to, 0o755);
  }
}, ALL_MS);

afterAll(async () => {
  if (why !== undefined) return;
  await debian?.close();
  await sandbox?.cleanup();
}, 120_000);

const asAda = (script: string): Promise<string> => debian.mustRun(script, { user: "ada", deadlineMs: SHOWN_MS });
const copies = (): string[] => readdirSync(debian.path(COPIES)).toSorted();

describe("the AppImage", () => {
  testInDebian(`is the same bytes when it is made twice, and one file that is a program${shown}`, () => {
    expect(basename(packs.old.path)).toBe(`Runnel-${OLD}-x86_64.AppImage`);
    expect(packs.again.sha256).toBe(packs.old.sha256);
    expect(packs.new.sha256).not.toBe(packs.old.sha256);
    expect(readFileSync(packs.old.path).toString("latin1", MAGIC.at, MAGIC.at + 3)).toBe(MAGIC.bytes);
  });

  testInDebian(`is not made with a runtime that would not find it${shown}`, async () => {
    const bad = [...kinds.slice(0, -1), RUNTIME];
    await expect(pack(bad, OLD, sandbox.makeFolder("bad"))).rejects.toThrow(/is no runtime of an AppImage/);
  });

  testInDebian(
    `has the command line, by its word and by a link, whose drive outlives what mapped it${shown}`,
    async () => {
      const image = `./${basename(packs.old.path)}`;
      expect(await asAda(`${image} --appimage-extract-and-run runnel --version`)).toBe(`${OLD}\n`);
      expect(copies()).toEqual([expect.stringMatching(/^7\.0\.0-[0-9a-f]{12}$/)]);
      expect(await asAda(`ln -s ${image} runnel; ./runnel --version`)).toBe(`${OLD}\n`);
      const port = await freePort();
      await asAda("mkdir served drive; echo here > served/file");
      const serving = debian.start(`./runnel serve --volume own=served --listen 127.0.0.1:${port}`, { user: "ada" });
      try {
        await asAda(`until ./runnel mount ws://127.0.0.1:${port}/own drive; do sleep 0.2; done`);
        // Only the server is still one that was unpacked.
        const unpacked = await debian.mustRun("ls -d /tmp/appimage_extracted_*");
        expect(unpacked.trim().split("\n")).toHaveLength(1);
        await asAda("echo more > drive/more; ./runnel flush --applied drive; cmp drive/more served/more");
        expect(await asAda("cat drive/file")).toBe("here\n");
        expect(await debian.mustRun("pgrep -u ada -af 'agent/main.ts'")).toContain(`/${COPIES}/${OLD}-`);
      } finally {
        await debian.run("./runnel stop", { user: "ada", deadlineMs: SHOWN_MS });
        // Whoever ends the runtime does not end what it waits for.
        await debian.run("kill -KILL $(pgrep -u ada -f 'main.ts serve|runnel.mjs serve')");
        serving.kill("SIGKILL");
      }
    },
    ALL_MS,
  );

  testInDebian(
    `lets an older copy go when nothing runs in it, and not before${shown}`,
    async () => {
      const old = expect.stringMatching(/^7\.0\.0-[0-9a-f]{12}$/);
      const young = expect.stringMatching(/^7\.0\.1-[0-9a-f]{12}$/);
      const newer = `./${basename(packs.new.path)} runnel --version`;
      await asAda("./runnel agent --background");
      expect(await asAda(newer)).toBe(`${NEW}\n`);
      expect(copies()).toEqual([old, young]);
      await asAda(`./runnel stop; rm -r ${COPIES.slice("home/ada/".length)}/${NEW}-*`);
      // Copies are looked through when one is made; one that was cut off is no copy.
      await asAda(`mkdir ${COPIES.slice("home/ada/".length)}/.new-cut; ${newer}`);
      expect(copies()).toEqual([".new-cut", young]);
    },
    ALL_MS,
  );

  // The sandbox of pages is made of namespaces, which nobody makes in a changed root.
  testInDebian(
    `shows the app's window, sandboxed, to an ordinary user of this system, over an agent that outlives it${shown}`,
    async () => {
      const home = sandbox.makeFolder("user");
      chmodSync(sandbox.folder, 0o755);
      chownSync(home, USER, USER);
      const image = join(home, "app.AppImage");
      copyFileSync(packs.new.path, image);
      chmodSync(image, 0o755);
      const own = { HOME: home, XDG_RUNTIME_DIR: home, DBUS_SESSION_BUS_ADDRESS: "disabled:", DISPLAY: ":97" };
      const env = { ...sandbox.env, ...own, RUNNEL_HOME: join(home, "home") };
      const asUser = ["--reuid", String(USER), "--regid", String(USER), "--clear-groups"];
      const begin = (...words: string[]): ChildProcess =>
        spawn("setpriv", [...asUser, ...words], { env, cwd: home, stdio: ["ignore", "ignore", "pipe"] });
      const screen = begin("Xvfb", ":97", "-screen", "0", "1280x800x24");
      const app = begin(image, "--disable-gpu", "--password-store=basic");
      let said = "";
      app.stderr?.on("data", (bytes: Buffer) => (said += bytes.toString()));
      try {
        const isShown = async (): Promise<boolean> => {
          if (app.exitCode !== null) throw new Error(`The app ended with ${app.exitCode}: ${said}`);
          const { stdout } = await run("xwininfo", ["-root", "-tree"], { env });
          return /"Runnel[^"]*"/.test(stdout);
        };
        await waitFor(isShown, SHOWN_MS, "the window");
        const { stdout } = await mustRun("ps", ["-u", String(USER), "-o", "args="]);
        expect(stdout).not.toContain("--no-sandbox");
        expect(stdout).toContain(`${home}/.local/share/runnel/appimage/${NEW}-`);
        const entry = readFileSync(join(home, ".local/share/applications/runnel.desktop"), "utf8");
        expect(entry).toContain(`Exec=${image} -- %u`);
      } finally {
        const ended = app.exitCode === null && app.signalCode === null ? once(app, "exit") : undefined;
        // The one that others of its kind belong to; the runtime waits for it.
        const processes = (await mustRun("ps", ["-u", String(USER), "-o", "pid=,args="])).stdout.split("\n");
        const [main] = processes.filter((line) => line.includes("/electron/electron ") && !line.includes("--type="));
        if (main === undefined) app.kill("SIGKILL");
        else process.kill(Number.parseInt(main, 10), "SIGTERM");
        await ended;
        screen.kill("SIGTERM");
      }
      expect((await run("setpriv", [...asUser, image, "runnel", "stop"], { env })).code).toBe(0);
    },
    ALL_MS,
  );
});
