// Makes the packages of the desktop app with the Electron of the tests, and starts the app in a clean Debian as an
// ordinary user does: its window is there, sandboxed, over an agent of the other package. The rpm is looked into.
import { copyFileSync, existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian, ensureTestElectron } from "../../scripts/tools.mjs";
import { Sandbox, mustRun, waitFor } from "../src/harness/index.ts";
import { DebianRoot, debianObstacle } from "../src/installers/debian-root.ts";
import { type Pack, pack } from "../src/installers/packs.ts";

const VERSION = "7.0.0";
const ALL_MS = 25 * 60_000;
const INSTALL_MS = 300_000;
const SHOWN_MS = 120_000;
const PROGRAM = "/usr/lib/runnel/electron/electron";

const why = debianObstacle();
const testInDebian = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
let debian: DebianRoot;
let electron: string;
let packs: Pack[];

beforeAll(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox(ALL_MS);
  electron = dirname(ensureTestElectron());
  packs = await pack(["deb", "desktop", "--electron", electron], VERSION, sandbox.makeFolder("out"));
  debian = await DebianRoot.make(sandbox);
  await debian.mustRun("apt-get -qq update", { deadlineMs: INSTALL_MS });
  const tools = "procps xvfb x11-utils";
  await debian.mustRun(`apt-get -qq install -y --no-install-recommends ${tools} 2>&1`, { deadlineMs: INSTALL_MS });
  await debian.mustRun("useradd --create-home ada");
}, ALL_MS);

afterAll(async () => {
  if (why !== undefined) return;
  await debian?.close();
  await sandbox?.cleanup();
}, 120_000);

describe("the desktop app's deb", () => {
  testInDebian(
    `is the same bytes when it is made twice${shown}`,
    async () => {
      const [again] = await pack(["desktop", "--electron", electron], VERSION, sandbox.makeFolder("again"));
      expect(again?.sha256).toBe(packs[1]?.sha256);
    },
    ALL_MS,
  );

  testInDebian(
    `is installed beside the other, and shows its window to an ordinary user${shown}`,
    async () => {
      expect(packs.map(({ path }) => basename(path))).toEqual([
        `runnel_${VERSION}_amd64.deb`,
        `runnel-desktop_${VERSION}_amd64.deb`,
      ]);
      for (const { path } of packs) copyFileSync(path, debian.path(`var/tmp/${basename(path)}`));
      await debian.mustRun("apt-get -qq install -y --no-install-recommends /var/tmp/*.deb 2>&1", {
        deadlineMs: INSTALL_MS,
      });
      expect(statSync(debian.path("usr/lib/runnel/electron/chrome-sandbox")).mode & 0o7777).toBe(0o4755);
      const screen = debian.start("exec Xvfb :7 -screen 0 1280x800x24", { user: "ada" });
      const app = debian.start(
        "export DISPLAY=:7 DBUS_SESSION_BUS_ADDRESS=disabled:; exec runnel-desktop --disable-gpu --password-store=basic",
        { user: "ada" },
      );
      let said = "";
      app.stderr?.on("data", (bytes: Buffer) => (said += bytes.toString()));
      try {
        const isShown = async (): Promise<boolean> => {
          if (app.exitCode !== null) throw new Error(`The app ended with ${app.exitCode}: ${said}`);
          const { stdout } = await debian.run("DISPLAY=:7 xwininfo -root -tree", { user: "ada" });
          return /"Runnel[^"]*"/.test(stdout);
        };
        await waitFor(isShown, SHOWN_MS, "the window");
        // The agent is that of the package `runnel`, and the app's pages are sandboxed: nothing turns that off.
        await waitFor(
          async () => (await debian.run("runnel status --json", { user: "ada" })).code === 0,
          SHOWN_MS,
          "it",
        );
        const agents = await debian.mustRun("pgrep -u ada -af 'agent/main.ts'");
        expect(agents).toContain("/usr/lib/runnel/");
        const pages = await debian.mustRun(`pgrep -u ada -f '${PROGRAM} --type=renderer'`);
        const page = pages.split("\n")[0] ?? "";
        expect(await debian.mustRun(`grep ^Seccomp: /proc/${page}/status`)).toMatch(/\s2\n$/);
        expect(await debian.mustRun("ps -u ada -o args=")).not.toContain("--no-sandbox");
      } finally {
        app.kill("SIGTERM");
        await debian.run("runnel stop", { user: "ada" });
        screen.kill("SIGTERM");
      }
    },
    ALL_MS,
  );

  testInDebian(
    `is removed, and leaves the other where it is${shown}`,
    async () => {
      await debian.mustRun("apt-get -qq purge -y runnel-desktop 2>&1", { deadlineMs: INSTALL_MS });
      expect(existsSync(debian.path("usr/lib/runnel/electron"))).toBe(false);
      expect(existsSync(debian.path("usr/share/applications/runnel.desktop"))).toBe(false);
      expect(await debian.mustRun("runnel --version")).toBe(`${VERSION}\n`);
    },
    ALL_MS,
  );
});

describe("the desktop app's rpm", () => {
  testInDebian(
    `is the same bytes when it is made twice, has the files of the deb, and asks for the other and for libraries${shown}`,
    async () => {
      ensureDebian("rpmbuild", ["rpm"]);
      const make = async (folder: string): Promise<Pack> => {
        const [made] = await pack(["desktop-rpm", "--electron", electron], VERSION, sandbox.makeFolder(folder));
        if (made === undefined) throw new Error("No rpm was made.");
        return made;
      };
      const [first, again] = [await make("rpm"), await make("rpm-again")];
      expect(basename(first.path)).toBe(`runnel-desktop-${VERSION}-1.x86_64.rpm`);
      expect(again.sha256).toBe(first.sha256);
      const list = async (command: string, ...args: string[]): Promise<string[]> =>
        (await mustRun(command, args)).stdout.split("\n").filter((line) => line !== "");

      const deb = sandbox.makeFolder("of-deb");
      await mustRun("dpkg-deb", ["--extract", packs[1]?.path ?? "", deb]);
      const inDeb = await list("find", deb, "!", "-type", "d", "-printf", "%M %s /%P -> %l\n");
      const format = "[%{FILEMODES:perms} %{FILESIZES} %{FILENAMES} -> %{FILELINKTOS}\n]";
      const inRpm = await list("rpm", "-qp", "--queryformat", format, first.path);
      expect(inDeb.length).toBeGreaterThan(40);
      expect(inRpm.filter((line) => !line.startsWith("d")).toSorted()).toEqual(inDeb.toSorted());
      expect(inRpm).toContainEqual(
        expect.stringMatching(/^-rwsr-xr-x \d+ \/usr\/lib\/runnel\/electron\/chrome-sandbox /),
      );
      const owners = await list("rpm", "-qp", "--queryformat", "[%{FILEUSERNAME}:%{FILEGROUPNAME}\n]", first.path);
      expect([...new Set(owners)]).toEqual(["root:root"]);

      const requires = await list("rpm", "-qp", "--requires", first.path);
      expect(requires).toEqual(expect.arrayContaining([`runnel = ${VERSION}`, "xdg-utils", "libgtk-3.so.0()(64bit)"]));
      // No other package has what it brings itself.
      expect(requires.filter((each) => /^lib(ffmpeg|EGL|GLESv2|vulkan)/.test(each))).toEqual([]);
      // A folder of the other goes with the other.
      expect(inRpm.filter((line) => / \/usr\/lib\/runnel(\/app)? /.test(line))).toEqual([]);
    },
    ALL_MS,
  );
});
