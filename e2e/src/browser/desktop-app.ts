// The desktop app in a real Electron, on a desktop for tests. Which Electron: that of the package where its binary was
// fetched, else that of the tests (scripts/tools.mjs).
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { _electron, type ElectronApplication, type Page } from "playwright-core";
import { testElectron } from "../../../scripts/tools.mjs";
import { type RunResult, run } from "../harness/run.ts";
import { waitFor } from "../harness/wait.ts";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const BUNDLE = join(ROOT, "app/dist");
const PROGRAMS = ["Xvfb", "dbus-daemon"];
/** Root, as tests may be, cannot have Chromium's own sandbox; the page's own is the same. */
const ARGS = ["--no-sandbox", "--disable-gpu", "--password-store=basic"];
const START_MS = 120_000;

/** Returns the path of the Electron there is. */
export function electronProgram(): string | undefined {
  const folder = join(ROOT, "node_modules/electron");
  const note = join(folder, "path.txt");
  const own = existsSync(note) ? join(folder, "dist", readFileSync(note, "utf8").trim()) : "";
  return existsSync(own) ? own : testElectron();
}

/** Why there is no desktop here to test on; undefined where there is one. */
export function desktopObstacle(): string | undefined {
  if (process.platform !== "linux") return "the stand-ins are of a desktop of Linux";
  if (electronProgram() === undefined) return "no Electron is here; npm run setup -- --for-tests fetches one";
  const folders = (process.env["PATH"] ?? "").split(":");
  const missing = PROGRAMS.filter((program) => !folders.some((folder) => existsSync(join(folder, program))));
  if (missing.length > 0) return `not installed: ${missing.join(", ")}`;
  return existsSync(join(BUNDLE, "main.mjs")) ? undefined : "the app is not built; npm run build:app builds it";
}

export class DesktopApp {
  readonly electron: ElectronApplication;
  readonly #env: NodeJS.ProcessEnv;

  private constructor(electron: ElectronApplication, env: NodeJS.ProcessEnv) {
    this.electron = electron;
    this.#env = env;
  }

  /** Starts it. Its processes carry the sandbox's mark, which is in the environment. */
  static async start(env: NodeJS.ProcessEnv, words: readonly string[] = []): Promise<DesktopApp> {
    const executablePath = electronProgram() ?? "";
    const defined = Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined);
    const electron = await _electron.launch({
      executablePath,
      args: [...ARGS, BUNDLE, ...words],
      env: Object.fromEntries(defined),
      cwd: "/",
      timeout: START_MS,
    });
    return new DesktopApp(electron, env);
  }

  /** Starts it once more beside the one that runs, as a person or a link does. */
  startAgain(...words: string[]): Promise<RunResult> {
    return run(electronProgram() ?? "", [...ARGS, BUNDLE, ...words], { env: this.#env, deadlineMs: START_MS });
  }

  /** The page that is shown at this route. */
  page(route: string): Promise<Page> {
    const isThere = (page: Page): boolean => !page.isClosed() && new URL(page.url()).pathname === route;
    return waitFor(() => this.electron.windows().find(isThere), START_MS, `a window at ${route}`);
  }
}
