// Runs what `npm start` runs after set-up, in a copy of the project: what it says works, and nothing of it stays.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestBrowser } from "../src/browser/browser.ts";
import { Sandbox, isMounted, onMount, run, waitFor } from "../src/harness/index.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const MADE = [".git", ".setup", "demo", "drive", "native/build", "native/prebuilds", "node_modules"];
const NOT_COPIED = new Set(MADE.map((path) => join(ROOT, path)));

/** A browser beside other tests is slow. */
const SHOWN_MS = 20_000;

let browser: TestBrowser;
let sandbox: Sandbox;

beforeEach(async () => {
  browser = await TestBrowser.start();
  sandbox = new Sandbox();
}, 60_000);

afterEach(async () => {
  await browser.close();
  await sandbox.cleanup();
}, 120_000);

/** Opens the links of the window and the console: both show what npm start has made. */
async function checkPages([toWindow = "", toConsole = ""]: readonly string[]): Promise<void> {
  const window = await browser.open(toWindow);
  await window.page.getByRole("button", { name: "Actions for drive" }).waitFor({ timeout: SHOWN_MS });
  await window.page.getByRole("heading", { name: "Everything is saved on the server." }).waitFor({ timeout: SHOWN_MS });
  const { page, complaints } = await browser.open(toConsole);
  await page.getByRole("navigation", { name: "Places" }).getByRole("link", { name: "Volumes" }).click();
  await page.getByRole("table").getByRole("link", { name: "demo" }).click();
  await page.getByRole("cell", { name: "README.md" }).waitFor({ timeout: SHOWN_MS });
  expect([...window.complaints, ...complaints]).toEqual([]);
}

test("serves ./demo and maps it at ./drive until Ctrl-C; the links to window and console are good at once, and new ones anywhere", async () => {
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
  await waitFor(() => /New links[^]*--data .*\n/.test(said), 60_000, "the introduction");
  const [opening = "", links = ""] = said.split("In your browser");

  const printed = (text: string): string[] => text.match(/http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}/g) ?? [];
  expect(printed(links)).toHaveLength(2);
  await checkPages(printed(links));
  // A new terminal is elsewhere, and knows nothing.
  const again = links.split("\n").filter((line) => line.startsWith("  "));
  const pasted = await run("sh", ["-c", again.join("\n")], {
    cwd: "/",
    env: { ...sandbox.env, RUNNEL_HOME: undefined },
  });
  expect(pasted).toMatchObject({ code: 0, stderr: "" });
  await checkPages(printed(pasted.stdout));

  const commands = opening.split("\n").filter((line) => line.startsWith("  "));
  expect(commands).toHaveLength(6);
  // Runs them as when they are all pasted at once.
  const shown = await onMount(`cd "$1"\n${commands.join("\n")}`, [project]);
  expect(shown).toMatch(/\n\/\* changed \*\/\n[^]*Saved: \d+ %/);
  await waitFor(() => /Programs wrote \d+.* MiB, .* saved\n/.test(said), 10_000, "the live line");

  started.kill("SIGINT");
  expect(await once(started, "exit")).toEqual([0, null]);
  expect(said).toMatch(/Unmounted \.\/drive and ended server and agent\. \.\/demo stays\.\n$/);
  expect(isMounted(join(project, "drive"))).toBe(false);
  expect(existsSync(join(project, "demo/large/copy.c"))).toBe(true);
}, 180_000);
