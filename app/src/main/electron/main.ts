// Begins the desktop app under Electron: one per home of an agent. Bundled to main.mjs, which lies beside what
// scripts/build-desktop.mjs puts there.
import { join } from "node:path";
import { app, dialog } from "electron";
import { isRunnelError, RealClock } from "@runnel/shared";
import { AgentHome } from "../../agent/control/host/agent-home.ts";
import { connectAgent } from "../../agent/control/connect-agent.ts";
import { VERSION } from "../../agent/version.ts";
import { AGENT_TABLE } from "../agent-table.ts";
import { Desktop, QUIET } from "../desktop.ts";
import { agentProgram, hasCrashed, startAgent } from "../host/agent-program.ts";
import { thisDesktop } from "../host/this-desktop.ts";
import { say } from "../say.ts";
import { ElectronLoginItem } from "./electron-login-item.ts";
import { ElectronShell } from "./electron-shell.ts";
import { ownUpdates } from "./own-updates.ts";

const CONNECT_MS = 10_000;

/** The folder of the bundle; the workspace is above it. */
const FOLDER = import.meta.dirname;

const clock = new RealClock();
const home = new AgentHome();
try {
  home.make();
} catch (error) {
  dialog.showErrorBox(say("cannotStartTitle"), isRunnelError(error) ? error.message : String(error));
  app.exit(1);
}
app.setName(say("appName"));
// Sandboxes all processes, where the system lets this user: root is not let.
if (!app.commandLine.hasSwitch("no-sandbox")) app.enableSandbox();
app.setPath("userData", join(home.folder, "desktop"));

// Waiting for it here would be for ever: Electron is ready only when this module has been evaluated.
if (app.requestSingleInstanceLock()) void run();
else app.quit();

async function run(): Promise<void> {
  // Words that come before there is a shell wait for it.
  let words = app.isPackaged ? process.argv.slice(1) : process.argv.slice(2);
  let take = (more: readonly string[]): void => void (words = [...words, ...more]);
  app.on("second-instance", (_event, more) => take(more));
  app.on("activate", () => take([]));
  app.on("open-url", (event, url) => {
    event.preventDefault();
    take([url]);
  });
  await app.whenReady();

  const command = startCommand();
  const atLogin = [...command, QUIET];
  const resources = app.isPackaged ? process.resourcesPath : undefined;
  const program = agentProgram({ bundle: FOLDER, resources, named: process.env["RUNNEL_APP_FOLDER"] });
  const shell = new ElectronShell(FOLDER, thisDesktop);
  const desktop = new Desktop({
    clock,
    shell,
    loginItem: thisDesktop.entries?.loginItem(atLogin) ?? new ElectronLoginItem(atLogin),
    connect: async () => {
      const record = home.readRecord();
      if (record === undefined) return undefined;
      return connectAgent(record.socket, AGENT_TABLE, { version: VERSION, clock, deadlineMs: CONNECT_MS });
    },
    start: () => startAgent(program, home, clock),
    hasCrashed: () => hasCrashed(home, clock),
    updateSource: await ownUpdates({
      own: thisDesktop.ownUpdates,
      launcher: program.launcher,
      logPath: join(home.folder, "desktop.log"),
      clock,
    }),
  });
  app.on("will-quit", () => {
    desktop.close();
    shell.close();
  });
  await takeLinksOf([...command, "--"]);
  const running = desktop.run(words);
  take = (more) => desktop.startedAgain(more);
  await running;
}

/** Starts the app again. An AppImage says where it lies: what it holds is elsewhere each time. */
function startCommand(): string[] {
  const image = process.env["APPIMAGE"];
  if (image !== undefined) return [image];
  // Without a package of its own, Electron has to be told which app it is.
  return app.isPackaged ? [process.execPath] : [process.execPath, FOLDER];
}

async function takeLinksOf(command: string[]): Promise<void> {
  const [path = "", ...args] = command;
  try {
    if (thisDesktop.entries !== undefined) await thisDesktop.entries.takeLinks(command, clock);
    else app.setAsDefaultProtocolClient("runnel", path, args);
  } catch {
    // An invite can still be pasted into the form.
  }
}
