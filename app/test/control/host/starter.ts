// A process that starts a program in the background and ends: `node starter.ts linux|windows PROGRAM`, as JSON.
import { linuxSystem } from "../../../src/agent/control/host/linux/system.ts";
import type { BackgroundProgram } from "../../../src/agent/control/host/system.ts";
import { windowsSystem } from "../../../src/agent/control/host/windows/system.ts";

const [name, program = ""] = process.argv.slice(2);
(name === "windows" ? windowsSystem : linuxSystem).startInBackground(JSON.parse(program) as BackgroundProgram);
