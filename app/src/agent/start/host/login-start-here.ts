// Start at login on the system that this process runs on: what is started maps the drives that are kept.
import { fileURLToPath } from "node:url";
import { type LoginEntry, LoginStart } from "../login-start.ts";

/** Sources run as they are; what is installed is bundled, each program in one file. */
const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "../../../cli/main.ts" : "../cli/main.js", import.meta.url),
);
const NAMES = { name: "Runnel drives", comment: "Maps the drives that are kept" };

/** `home`: of the agent; the environment of a log-in may be another than this one. */
export async function loginStartHere(home: string): Promise<LoginStart> {
  return new LoginStart(await entriesOf(process.platform), [process.execPath, PROGRAM, "reconnect", "--home", home]);
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
