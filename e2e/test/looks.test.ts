// Looks of every view of the window: in both sizes, light and dark, full, empty, and without the agent. Nothing that
// axe finds, nothing that goes over the edge, nothing that moves when it comes. The shots of all lie side by side in
// one page, for a person to look at: e2e/looks/index.html.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { barriers } from "../src/browser/axe.ts";
import { TestBrowser } from "../src/browser/browser.ts";
import { type Device, Sandbox, onMount, waitFor } from "../src/harness/index.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
const SHOTS = fileURLToPath(new URL("../looks/", import.meta.url));
const DIST = fileURLToPath(new URL("../../app/ui/dist/assets/", import.meta.url));
const SCHEMES = LONG ? (["light", "dark"] as const) : (["light"] as const);
const SIZES = { popover: { width: 400, height: 640 }, window: { width: 1100, height: 760 } };
const VIEWS = ["Home", "Savings", "Folders", "Conflicts", "Add a drive", "Settings", "Help"];
/** JavaScript of a page, compressed. */
const SCRIPT_BYTES_MAX = 250 * 1024;
const SHOWN_MS = 30_000;
const TEST_MS = 240_000;

let browser: TestBrowser;
let sandbox: Sandbox;
let device: Device;
const shots: { name: string; file: string }[] = [];

beforeAll(async () => {
  browser = await TestBrowser.start();
  sandbox = new Sandbox();
  device = sandbox.device();
  rmSync(SHOTS, { recursive: true, force: true });
  mkdirSync(SHOTS, { recursive: true });
}, TEST_MS);

afterAll(async () => {
  const figures = shots.map(
    ({ name, file }) => `<figure><img src="${file}" alt=""><figcaption>${name}</figcaption></figure>`,
  );
  const style =
    "body{font:14px system-ui}figure{display:inline-block;margin:8px}img{max-width:520px;border:1px solid #888}";
  writeFileSync(
    join(SHOTS, "index.html"),
    `<!doctype html><title>Looks</title><style>${style}</style>${figures.join("")}`,
  );
  await browser.close();
  await sandbox.cleanup();
}, 60_000);

async function link(): Promise<string> {
  const { page } = (await device.ask(["ui", "--print"])) as { page: { link: string } };
  return page.link;
}

/** Says what is wrong with the page as it is now. */
async function faults(page: Page, name: string): Promise<string[]> {
  const file = `${name.replaceAll(/\W+/g, "-")}.png`;
  await page.screenshot({ path: join(SHOTS, file) });
  shots.push({ name, file });
  const found = await barriers(page);
  const over = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  if (over > 0) found.push(`goes ${over} pixels over the edge`);
  return found.map((each) => `${name}: ${each}`);
}

/** Opens each view in each size; what is wrong with it. */
async function allViews(state: string, shown: string): Promise<string[]> {
  const found: string[] = [];
  for (const scheme of SCHEMES) {
    for (const [size, viewport] of Object.entries(SIZES)) {
      const { page, complaints } = await browser.open(await link(), scheme);
      await page.setViewportSize(viewport);
      await page.getByText(shown).first().waitFor({ timeout: SHOWN_MS });
      await page.evaluate(
        "window.moved = 0; new PerformanceObserver((list) => { for (const e of list.getEntries()) if (!e.hadRecentInput) window.moved += e.value; }).observe({ type: 'layout-shift' })",
      );
      for (const view of VIEWS) {
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view }).click();
        await page.locator(".skeleton").first().waitFor({ state: "detached", timeout: SHOWN_MS });
        found.push(...(await faults(page, `${state} ${view} ${size} ${scheme}`)));
      }
      found.push(...complaints.map((each) => `${state} ${size}: ${each}`));
      const moved = await page.evaluate<number>("window.moved");
      if (moved > 0.1) found.push(`${state} ${size} ${scheme}: moved by ${moved}`);
      await page.context().close();
    }
  }
  return found;
}

test(
  "without a drive every view says how to get the first one",
  async () => {
    expect(await allViews("empty", "No drive is mapped")).toEqual([]);
  },
  TEST_MS,
);

test(
  "with a drive at work, and without the agent, every view can be read and used by everybody",
  async () => {
    const served = sandbox.makeFolder("served");
    for (const name of ["reports", "photos of a summer with quite a long name", "music"]) {
      mkdirSync(join(served, name));
      writeFileSync(join(served, name, "notes.txt"), "text ".repeat(1000));
    }
    writeFileSync(join(served, "budget.ods"), Buffer.alloc(3_000_000, "figures "));
    const server = await sandbox.startServer({ volumes: { docs: served } });
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    await onMount('cat "$1/budget.ods" > /dev/null; cp "$1/budget.ods" "$1/copy.ods"', [drive]);
    await device.ask(["pin", join(drive, "reports")]);
    await device.flush(drive);
    const found = await allViews("full", "Everything is saved on the server.");

    const { page } = await browser.open(await link());
    await page.getByText("Everything is saved on the server.").first().waitFor({ timeout: SHOWN_MS });
    await server.kill();
    await page.getByRole("heading", { level: 1, name: /Offline/ }).waitFor({ timeout: SHOWN_MS });
    found.push(...(await faults(page, "offline Home window light")));
    const { pid } = (await device.status())["agent"] as { pid: number };
    process.kill(pid, "SIGKILL");
    await page.getByText("The agent does not answer.").first().waitFor({ timeout: SHOWN_MS });
    // Says nothing that nobody can know now.
    expect(await page.getByText("You may switch off").count()).toBe(0);
    for (const view of VIEWS) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view }).click();
      found.push(...(await faults(page, `stale ${view} window light`)));
    }
    await waitFor(() => !readdirSync("/proc").includes(String(pid)), SHOWN_MS, "the end of the agent");
    expect(found).toEqual([]);
  },
  TEST_MS,
);

test("the page is small, and its chart comes only when it is wanted", () => {
  const scripts = readdirSync(DIST).filter((name) => name.endsWith(".js"));
  const bytes = (name: string): number => gzipSync(readFileSync(join(DIST, name))).length;
  const [chart, others] = [
    scripts.filter((name) => name.startsWith("chart")),
    scripts.filter((name) => !name.startsWith("chart")),
  ];
  expect(chart).toHaveLength(1);
  expect(others.reduce((sum, name) => sum + bytes(name), 0)).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
});
