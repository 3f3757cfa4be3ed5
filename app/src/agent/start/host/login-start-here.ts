// Start at login on the system that this process runs on: what is started maps the drives that are kept.
import { ownProgram } from "../../control/host/own-program.ts";
import { type LoginEntry, LoginStart } from "../login-start.ts";

const NAMES = { name: "Runnel drives", comment: "Maps the drives that are kept" };

/** `home`: of the agent; the environment of a log-in may be another than this one. */
export async function loginStartHere(home: string): Promise<LoginStart> {
  const command = [process.execPath, ownProgram("cli"), "reconnect", "--home", home];
  return new LoginStart(await entriesOf(process.platform), command);
}

async function entriesOf(platform: NodeJS.Platform): Promise<[LoginEntry, ...LoginEntry[]]> {
  if (platform === "win32") return [new (await import("./windows/run-value.ts")).RunValue()];
  if (platform === "darwin") return [new (await import("./darwin/launch-agent.ts")).LaunchAgent()];
  const [{ UserUnit }, { AutostartEntry }] = await Promise.all([
    import("./linux/user-unit.ts"),
    import("./linux/desktop-entry.ts"),
  ]);
  const unit = new UserUnit();
  const entry = new AutostartEntry("runnel-drives.desktop", NAMES);
  return (await unit.answers()) ? [unit, entry] : [entry];
}
