// A process that mounts and unmounts for a long time keeps nothing of the mounts that have ended.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { OWN_NAMESPACE } from "./support/fuse-rig.ts";
import { canMount } from "./support/mount-place.ts";

const ROUNDS = 1000;
const DEADLINE_S = "500";

(canMount() ? test : test.skip)("a thousand mounts leave no descriptor, thread or mount behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "runnel-mounts-"));
  const script = fileURLToPath(new URL("support/mount-often.ts", import.meta.url));
  const command = [...OWN_NAMESPACE, process.execPath, script, String(ROUNDS), folder];
  const child = spawn("timeout", ["-k", "1", DEADLINE_S, ...command], {
    cwd: "/",
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  const end = await new Promise((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? code));
  });
  expect(end).toBe(0);
  // A thread that has just ended may have been counted early.
  for (const { early, late } of JSON.parse(said) as { early: number; late: number }[]) {
    expect(late).toBeLessThanOrEqual(early);
  }
  await rm(folder, { recursive: true });
});
