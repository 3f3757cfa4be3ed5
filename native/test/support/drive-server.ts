// Serves a mount with the fake agent behind it. A process of its own: it never touches its mount, and whoever does must
// not be it. Over IPC: {id, method, args} → {id, result} or {id, error}.
import { mkdirSync, readFileSync } from "node:fs";
import { join, parse } from "node:path";
import { kernelDrive, WINDOWS_PERSON, type DriveSettings } from "../../drive.ts";
import { FakeAgent } from "./fake-agent.ts";

const [mountpoint = "", folder = "", settingsJson = "{}"] = process.argv.slice(2);
process.chdir(parse(process.cwd()).root);

/** The clock that the drive has: CLOCK_BOOTTIME to a hundredth, or on other systems that of Node. */
const bootMs = (): number =>
  process.platform === "linux"
    ? Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1000
    : Number(process.hrtime.bigint()) / 1e6;

const overlayFolder = join(folder, "overlay");
mkdirSync(overlayFolder, { recursive: true });
const settings: DriveSettings = {
  mountpoint,
  source: "runnel:test",
  overlayFolder,
  overlayPrefix: "test",
  isReadOnly: false,
  deadlinesMs: {},
  entriesMax: 10_000,
  ...(JSON.parse(settingsJson) as Partial<DriveSettings>),
};

const person = process.platform === "win32" ? WINDOWS_PERSON : undefined;
const fake = new FakeAgent(kernelDrive(settings), join(folder, "cache"), bootMs, person);

interface Call {
  id: number;
  method: string;
  args: unknown[];
}

process.on("message", (call: Call) => {
  void answer(call);
});

async function answer({ id, method, args }: Call): Promise<void> {
  try {
    const what: unknown = Reflect.get(fake, method, fake);
    if (typeof what !== "function") throw new Error(`no method ${method}`);
    const result: unknown = await what.apply(fake, args);
    process.send?.({ id, result });
  } catch (error) {
    const { message, kind } = error as { message: string; kind?: string };
    process.send?.({ id, error: { message, kind } });
  }
}

// The test has ended or died: without this process the kernel ends the mount.
process.on("disconnect", () => process.exit(0));
process.send?.({ id: 0, result: "ready" });
