// Drives as an agent of a Mac finds them, on Linux: by the text of mount(8), in whatever letters their paths are typed,
// and when their agent has died.
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type Device, Sandbox, mountsBelow, onMount } from "../src/harness/index.ts";

const AS_ON_A_MAC = fileURLToPath(new URL("../src/macos/as-on-a-mac.ts", import.meta.url));

let sandbox: Sandbox;
let device: Device;
let url: string;
let drive: string;

beforeEach(async () => {
  sandbox = new Sandbox();
  url = `${(await sandbox.startServer()).url}/docs`;
  device = sandbox.device("a", { NODE_OPTIONS: `--import=${AS_ON_A_MAC}` });
  drive = sandbox.makeFolder("Ada's drive on it (docs)");
}, 60_000);

afterEach(() => sandbox.cleanup(), 120_000);

test("an agent of a Mac finds what a path leads to in a drive, and what a dead agent has left", async () => {
  await device.mount(url, drive);
  await onMount('mkdir "$1/Sub"; echo text > "$1/Sub/file"', [drive]);
  const shouted = join(dirname(drive), basename(drive).toUpperCase());
  await device.ask(["pin", join(drive, "Sub/file")]);
  await device.ask(["pin", join(shouted, "Sub")]);
  await expect(device.ask(["pin", join(drive, "SUB")])).rejects.toThrow();
  const { mounts } = (await device.status()) as { mounts: { mountpoint: string }[] };
  expect(mounts.map(({ mountpoint }) => mountpoint)).toEqual([drive]);

  await device.killAgent();
  expect(mountsBelow(drive)).toHaveLength(1);
  await device.mount(url, drive);
  expect(await onMount('cat "$1/Sub/file"', [drive])).toBe("text\n");

  await device.killAgent();
  await device.unmount(shouted);
  expect(mountsBelow(drive)).toEqual([]);
}, 60_000);
