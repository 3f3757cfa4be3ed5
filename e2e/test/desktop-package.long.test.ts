// Makes the package of the desktop app with the Electron of the tests, and starts the app in a clean Debian as an
// ordinary user does: its window is there, sandboxed, over an agent of the other package.
import { copyFileSync, existsSync, statSync } from "node:fs";
import { basename, dirname } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureTestElectron } from "../../scripts/tools.mjs";
import { Sandbox, waitFor } from "../src/harness/index.ts";
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
let packs: Pack[];

beforeAll(async () => {
  if (why !== undefined) return;
  sandbox = new Sandbox(ALL_MS);
  const kinds = ["deb", "desktop", "--electron", dirname(ensureTestElectron())];
  packs = await pack(kinds, VERSION, sandbox.makeFolder("out"));
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
