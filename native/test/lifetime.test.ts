// Whatever the addons are doing, the end of the process or of a worker thread is a clean one.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { OWN_NAMESPACE } from "./support/fuse-rig.ts";
import { canMount } from "./support/mount-place.ts";

const ROUNDS = process.env["RUNNEL_LONG"] ? 30 : 2;
const DEADLINE_S = "60";

const script = (name: string): string => fileURLToPath(new URL(`support/${name}`, import.meta.url));

/** Runs a script of support/ with a deadline, in a mount namespace and a folder of its own. */
async function runScript(
  name: string,
  args: readonly string[],
): Promise<{ end: number | string | null; said: string }> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-lifetime-"));
  const command = [...OWN_NAMESPACE, process.execPath, script(name), ...args, folder];
  const child = spawn("timeout", ["-k", "1", DEADLINE_S, ...command], {
    cwd: "/",
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  const end = await new Promise<number | string | null>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  await rm(folder, { recursive: true, force: true, maxRetries: 20 });
  return { end, said };
}

const WHATS = canMount() ? ["core", "drive"] : ["core"];
const ENDS = WHATS.flatMap((what) => ["exit", "terminate"].map((how) => ({ what, how })));

test.each(ENDS)("$how while $what is at work ends cleanly and leaves nothing", async ({ what, how }) => {
  for (let round = 0; round < ROUNDS; round++) {
    expect(await runScript("abrupt-end.ts", [what, how, String((round * 7) % 50)])).toEqual({ end: 0, said: "" });
  }
});
