// The WinFsp drive as the contract's engine: drive.node with the stand-in for WinFsp's library, the fake agent and a
// program of Windows, all in this process. Only on Windows, or Wine; the library lies beside the test.
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { kernelDrive, WINDOWS_PERSON, type Drive } from "../../drive.ts";
import { FakeAgent } from "./fake-agent.ts";
import { RIG_SETTINGS, waitUntil, agentOf, type DriveRig, type RigSettings } from "./drive-rig.ts";
import { StandIn } from "./stand-in.ts";
import { WindowsProgram } from "./windows-program.ts";

const LIBRARY = new URL("winfsp-x64.dll", import.meta.url);

let standIn: StandIn | undefined;

/** Has drive.node find the library as one that this process has loaded. */
const loadLibrary = (): void => process.dlopen({ exports: {} }, fileURLToPath(LIBRARY), constants.dlopen.RTLD_LAZY);

/** The only program of this process, once a drive was made. */
async function program(): Promise<StandIn> {
  standIn ??= await StandIn.open(Number(await readFile(new URL(`${LIBRARY}.port${process.pid}`), "utf8")));
  return standIn;
}

export interface WinFspRig extends DriveRig {
  drive: Drive;
  fake: FakeAgent;
  standIn: StandIn;
  program: WindowsProgram;
}

/** The clock that the drive has. */
const bootMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export async function winfspRig(
  changes: Partial<RigSettings> = {},
  isReadOnly = false,
  mountpoint = "R:",
): Promise<WinFspRig> {
  loadLibrary();
  const folder = await mkdtemp(join(tmpdir(), "runnel-winfsp-"));
  const overlayFolder = join(folder, "overlay");
  await mkdir(overlayFolder);
  const settings = { ...RIG_SETTINGS, ...changes };
  const drive = kernelDrive({
    mountpoint,
    source: "runnel:docs",
    overlayFolder,
    overlayPrefix: "test",
    isReadOnly,
    ...settings,
  });
  const fake = new FakeAgent(drive, join(folder, "cache"), bootMs, WINDOWS_PERSON);
  await fake.start();
  const agent = agentOf(fake);
  const connected = await program();
  return {
    drive,
    fake,
    agent,
    standIn: connected,
    program: new WindowsProgram(connected),
    until: waitUntil,
    openInterrupted: () => Promise.reject(new Error("Windows tells a drive of no program that gives up")),
    close: async () => {
      await drive.close(true);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
