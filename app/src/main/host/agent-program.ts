// The `runnel` program of this machine, which the app starts in a process of its own: under its own Node, never under
// the runtime that shows the windows.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join, parse } from "node:path";
import { type Clock, RunnelError, sleep } from "@runnel/shared";
import type { AgentHome } from "../../agent/control/host/agent-home.ts";
import { say } from "../say.ts";
import type { DesktopSystem } from "./desktop-system.ts";
import { thisDesktop } from "./this-desktop.ts";

/** The program gives up by itself before. */
const START_MS = 60_000;
const POLL_MS = 50;
/** An agent that is asked to end unmounts its drives first. */
const END_MS = 30_000;
const SAID_CHARACTERS_MAX = 4_000;

export interface AgentProgram {
  /** Path of Node 24 or newer. */
  node: string;
  /** Path of the launcher of the command line. */
  launcher: string;
}

export interface AppPlace {
  /** Folder of the app's bundle. */
  bundle: string;
  /** Folder of what a packaged app brings beside its bundle (`process.resourcesPath`). */
  resources: string | undefined;
  /** Folder `app` of the program, where whoever started the app names one (installers/linux/AppRun). */
  named: string | undefined;
}

/** The program beside this app: of its own packages, else that which the system finds. */
export function agentProgram(
  { bundle, resources, named }: AppPlace,
  { nodes, launchers }: Pick<DesktopSystem, "nodes" | "launchers"> = thisDesktop,
): AgentProgram {
  const packaged = join(resources ?? "", "runnel", "app");
  // oxlint-disable-next-line node/no-sync -- once, before there is anything to hold up
  const first = (...paths: string[]): string | undefined => paths.find((path) => existsSync(path));
  const folder = named ?? (resources === undefined ? undefined : first(packaged)) ?? join(bundle, "..");
  const node = first(...nodes.map((path) => join(folder, "..", path))) ?? "node";
  return { node, launcher: first(...launchers.map((path) => join(folder, path))) ?? join(folder, launchers[0]) };
}

/** Starts the agent, unless one runs. Resolves when it answers. @throws RunnelError Unavailable with a sentence. */
export async function startAgent({ node, launcher }: AgentProgram, home: AgentHome, clock: Clock): Promise<void> {
  const { ELECTRON_RUN_AS_NODE: _runAsNode, NODE_OPTIONS: _options, ...inherited } = process.env;
  const child = spawn(node, [launcher, "agent", "--background"], {
    cwd: parse(home.folder).root,
    env: { ...inherited, RUNNEL_HOME: home.folder },
    stdio: ["ignore", "ignore", "pipe"],
    windowsHide: true,
  });
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-SAID_CHARACTERS_MAX);
  });
  const timer = clock.after(START_MS, () => child.kill("SIGKILL"));
  const failure = await new Promise<string | undefined>((done) => {
    child.once("error", () => done(say("agentMissing", { program: node })));
    child.once("exit", (code) => done(code === 0 ? undefined : said.trim() || say("agentFailed")));
  });
  timer.cancel();
  // The agent may hold it open.
  child.stderr.destroy();
  if (failure !== undefined) throw new RunnelError("Unavailable", "start the agent", failure);
}

/** Waits for the agent to be gone. @returns true when it left its record behind: it was killed, and ended nothing. */
export async function hasCrashed(home: AgentHome, clock: Clock): Promise<boolean> {
  const first = home.readRecord();
  const untilMs = clock.bootMs() + END_MS;
  for (;;) {
    const record = home.readRecord();
    if (record === undefined) return false;
    // Another one runs already, or this one does not go.
    if (record.pid !== first?.pid || clock.bootMs() > untilMs || !isAlive(record.pid)) return true;
    await sleep(clock, POLL_MS);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
