// Runs what `npm start` runs after set-up, in a copy of the project: what it says works, and nothing of it stays.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Sandbox, isMounted, onMount, waitFor } from "../src/harness/index.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MADE = [".git", ".setup", "demo", "drive", "native/build", "native/prebuilds", "node_modules"];
const NOT_COPIED = new Set(MADE.map((path) => join(ROOT, path)));

let sandbox: Sandbox;

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

test("serves ./demo and maps it at ./drive until Ctrl-C", async () => {
  const project = sandbox.path("project");
  cpSync(ROOT, project, { recursive: true, filter: (path) => !NOT_COPIED.has(path) });
  symlinkSync(join(ROOT, "node_modules"), join(project, "node_modules"));
  const started = spawn(process.execPath, ["scripts/start.ts"], {
    cwd: project,
    env: sandbox.env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  started.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await waitFor(() => said.includes("Ctrl-C unmounts"), 60_000, "the introduction");

  const commands = said.split("\n").filter((line) => line.startsWith("  "));
  expect(commands).toHaveLength(6);
  // Runs them as when they are all pasted at once.
  const shown = await onMount(`cd "$1"\n${commands.join("\n")}`, [project]);
  expect(shown).toMatch(/\n\/\* changed \*\/\n[^]*Saved: \d+ %/);
  await waitFor(() => /Programs wrote \d+.* MiB, .* saved\n/.test(said), 10_000, "the live line");

  for (const place of ["window of your drives", "console of the server"])
    expect(said).toMatch(new RegExp(`^The ${place}: http://127\\.0\\.0\\.1:\\d+/#[\\w-]{43}$`, "m"));
  started.kill("SIGINT");
  expect(await once(started, "exit")).toEqual([0, null]);
  expect(said).toMatch(/Unmounted \.\/drive and ended server and agent\. \.\/demo stays\.\n$/);
  expect(isMounted(join(project, "drive"))).toBe(false);
  expect(existsSync(join(project, "demo/large/copy.c"))).toBe(true);
}, 180_000);
