// The desktop app as a person starts it, who is not root: what shows pages runs in the sandbox of Chromium, with the
// kernel's help. Runs in a mount namespace of its own, in which the product lies where that person may read it; needs
// root to make that.
import { chownSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { spawn } from "node:child_process";
import { afterEach, expect, test } from "@jest/globals";
import { desktopObstacle, electronProgram, ROOT } from "../src/browser/desktop-app.ts";
import { DesktopBus } from "../src/browser/desktop-bus.ts";
import { Sandbox, waitFor } from "../src/harness/index.ts";

const USER = 54_322;
const SHOWN_MS = 120_000;
/** Filters system calls (proc_pid_status(5)). */
const SECCOMP_FILTER = "2";

const why = process.getuid?.() === 0 ? desktopObstacle() : "needs root to become another user";
const onDesktop = why === undefined ? test : test.skip;

let sandbox: Sandbox | undefined;
let desktop: DesktopBus | undefined;

afterEach(async () => {
  desktop?.close();
  await sandbox?.cleanup();
}, 60_000);

interface Process {
  words: string;
  /** Lines of its status, by name. */
  facts: ReadonlyMap<string, string>;
}

/** Processes of the user. */
function processesOf(user: number): Process[] {
  return readdirSync("/proc").flatMap((pid) => {
    if (!/^\d+$/.test(pid)) return [];
    try {
      if (statSync(`/proc/${pid}`).uid !== user) return [];
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      const lines = readFileSync(`/proc/${pid}/status`, "utf8").split("\n");
      const facts = lines.map((line) => line.split(/:\s+/)).map(([name = "", value = ""]) => [name, value] as const);
      return [{ words, facts: new Map(facts) }];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

onDesktop(
  `pages of the desktop app are confined by the system${why === undefined ? "" : ` (skipped: ${why})`}`,
  async () => {
    sandbox = new Sandbox();
    const [place, user] = ["product", "user"].map((name) => join(sandbox?.folder ?? "", name));
    for (const folder of [place, user]) mkdirSync(folder ?? "", { mode: 0o755 });
    chownSync(user ?? "", USER, USER);
    desktop = await DesktopBus.start(sandbox.env);
    const own = { HOME: user, XDG_RUNTIME_DIR: user, RUNNEL_HOME: join(user ?? "", "home") };
    // The bus lets in nobody but root, who started it.
    const env = { ...desktop.env, ...own, DBUS_SESSION_BUS_ADDRESS: "disabled:" };
    const electron = join(place ?? "", relative(ROOT, electronProgram() ?? ""));
    const script = `set -e
chmod 755 "$1"; mount --bind "${ROOT}" "$2"; cd "$3"
exec setpriv --reuid ${USER} --regid ${USER} --clear-groups "$4" --disable-gpu --password-store=basic "$2/app/dist"`;
    const words = ["bash", "-c", script, "bash", sandbox.folder, place ?? "", user ?? "", electron];
    const app = spawn("unshare", ["--mount", "--propagation", "private", ...words], {
      env,
      cwd: "/",
      detached: true,
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    app.stderr.on("data", (bytes: Buffer) => (said += bytes.toString()));
    const renderers = (): Process[] => processesOf(USER).filter((each) => each.words.includes("--type=renderer"));
    const isThere = (): boolean => {
      if (app.exitCode !== null) throw new Error(`The app ended with ${app.exitCode}: ${said}`);
      // A process that has just begun has no filter yet.
      const filters = renderers().map(({ facts }) => facts.get("Seccomp"));
      return filters.length > 0 && filters.every((filter) => filter === SECCOMP_FILTER);
    };
    await waitFor(isThere, SHOWN_MS, "processes that show pages, and have their filter");
    for (const { words: started, facts } of renderers()) {
      expect(started).not.toContain("--no-sandbox");
      expect([facts.get("Seccomp"), facts.get("NoNewPrivs")]).toEqual([SECCOMP_FILTER, "1"]);
      // Namespaces of its own make it another process than outside, without any right in the system.
      expect(facts.get("NSpid")?.split("\t").length).toBeGreaterThan(1);
      expect(facts.get("CapEff")).toMatch(/^0+$/);
    }
  },
  2 * SHOWN_MS,
);
