// A drive whose agent died comes back at its place, beside a program that writes there all the time.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Device, Sandbox, mountsBelow, onMount, waitFor } from "../src/harness/index.ts";

const TIMES = 2;

/** Makes files without a pause, whatever comes of it; says how many it could. */
const BUSY = `
import os, signal, sys
ended = []
signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
made = number = 0
while not ended:
    number += 1
    try:
        os.close(os.open("%s/file%d" % (sys.argv[1], number), os.O_CREAT | os.O_WRONLY))
        made += 1
    except OSError:
        pass
print(made)
`;

let sandbox: Sandbox;
let device: Device;
let url: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  url = `${(await sandbox.startServer()).url}/docs`;
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(url, drive);
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

test("no program writes into the bare folder meanwhile, which would keep the drive from coming back", async () => {
  const writer = spawn("python3", ["-c", BUSY, drive], {
    cwd: "/",
    env: sandbox.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const made = once(writer.stdout, "data");
  for (let time = 1; time <= TIMES; time++) {
    const before = Number(await onMount('ls "$1" | wc -l', [drive]));
    await device.killAgent();
    await device.mount(url, drive);
    const goesOn = async (): Promise<boolean> => Number(await onMount('ls "$1" | wc -l', [drive])) > before;
    await waitFor(goesOn, 20_000, "the program to go on writing");
  }
  writer.kill("SIGTERM");
  expect(Number(String((await made)[0]))).toBeGreaterThan(0);
  await device.unmount(drive);
  expect(mountsBelow(drive)).toEqual([]);
  expect(await onMount('ls -A "$1"', [drive])).toBe("");
}, 120_000);
