// The folders of the window in a real browser: what is here is told by row, pinned and freed by row; the page and the
// cache's files say the same. Who else has a file open is told by name. Of a long folder only what is seen is in the
// page.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { TestBrowser } from "../src/browser/browser.ts";
import { type Device, Sandbox, type ServerProcess, cachedBytes, onMount, waitFor } from "../src/harness/index.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
const ROWS = LONG ? 100_000 : 2_000;
/** A browser beside other tests is slow. */
const SHOWN_MS = 30_000;
const TEST_MS = LONG ? 300_000 : 120_000;
const FILM_BYTES = 1024 * 1024;
const BIG_BYTES = 3 * FILM_BYTES;
const IN_PAGE_MAX = 300;

let browser: TestBrowser;
let sandbox: Sandbox;
let device: Device;
let server: ServerProcess;
let served: string;
let drive: string;
let cache: string;

beforeAll(async () => {
  browser = await TestBrowser.start();
}, TEST_MS);

afterAll(() => browser.close());

beforeEach(async () => {
  sandbox = new Sandbox();
  device = sandbox.device();
  served = sandbox.makeFolder("served");
  drive = sandbox.makeFolder("drive");
  cache = sandbox.makeFolder("cache");
}, TEST_MS);

afterEach(() => sandbox.cleanup(), 120_000);

async function openFolders(): Promise<Awaited<ReturnType<TestBrowser["open"]>>> {
  server = await sandbox.startServer({ volumes: { docs: served }, readyMs: TEST_MS / 2 });
  await device.mount(`${server.url}/docs`, drive, ["--cache", cache]);
  const { page } = (await device.ask(["ui", "--print"])) as { page: { link: string } };
  const opened = await browser.open(page.link);
  await opened.page.getByRole("navigation").getByRole("link", { name: "Folders" }).click();
  return opened;
}

/** Asks for more than the cache may take: what lacks is told, until it is dismissed or tried again with success. */
async function refusePin(page: Page): Promise<void> {
  await device.ask(["set", drive, "--cache-size", "2M"]);
  const big = page.getByRole("row").filter({ hasText: "big" });
  const refused = page.getByRole("alert").filter({ hasText: "it needs 1 MiB more than the cache may take (2 MiB)" });
  for (const answer of ["Dismiss", "Try again"]) {
    await page.getByRole("button", { name: "Actions for big" }).click();
    await page.getByRole("menuitem", { name: "Keep here" }).click();
    await refused.waitFor({ timeout: SHOWN_MS });
    expect(await refused.getByRole("link", { name: "Settings" }).count()).toBe(1);
    expect(await refused.innerText()).not.toContain("runnel");
    if (answer === "Try again") await device.ask(["set", drive, "--cache-size", "8M"]);
    await refused.getByRole("button", { name: answer }).click();
    await refused.waitFor({ state: "detached", timeout: SHOWN_MS });
  }
  await big.getByText("kept here").waitFor({ timeout: SHOWN_MS });
  expect(cachedBytes(cache)).toBeGreaterThanOrEqual(BIG_BYTES);
}

/** Asks by the keyboard who has a file open, until somebody else has; says so when the server has gone. */
async function askForOpeners(page: Page): Promise<void> {
  const actions = page.getByRole("button", { name: "Actions for plan.txt" });
  await actions.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Who has it open" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "Who has plan.txt open" });
  await dialog.getByText("Nobody else has it open.").waitFor({ timeout: SHOWN_MS });
  const other = sandbox.device("other");
  const theirs = sandbox.makeFolder("their-drive");
  await other.mount(`${server.url}/docs`, theirs);
  await dialog.getByText("Has it on a drive").waitFor({ timeout: SHOWN_MS });
  await onMount('cat "$1/reports/plan.txt"', [theirs]);
  const row = dialog.getByRole("list", { name: "Other devices" }).getByRole("listitem");
  await row.getByText("Has it open, or had it a moment ago").waitFor({ timeout: SHOWN_MS });
  expect(await row.innerText()).toMatch(/^Runnel .* on .*\n.*\nConnected since /s);
  expect(await dialog.getByText("Nobody else").count()).toBe(0);
  await server.kill();
  await dialog.getByRole("alert").waitFor({ timeout: SHOWN_MS });
  expect(await row.count()).toBe(0);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached", timeout: SHOWN_MS });
  await page.locator(':focus[aria-label="Actions for plan.txt"]').waitFor({ timeout: SHOWN_MS });
}

test(
  "a file is kept here, let go and freed by its row, a folder is paused and resumed, as disk and agent say; who has a file open is told",
  async () => {
    writeFileSync(join(served, "big"), randomBytes(BIG_BYTES));
    sandbox.makeFolder("served/reports");
    writeFileSync(join(served, "reports", "plan.txt"), "plan");
    writeFileSync(join(served, "film"), randomBytes(FILM_BYTES));
    const { page, complaints } = await openFolders();
    const film = page.getByRole("row").filter({ hasText: "film" });
    await film.getByText("at the server").waitFor({ timeout: SHOWN_MS });
    await page.getByRole("button", { name: "Actions for film" }).click();
    await page.getByRole("menuitem", { name: "Keep here" }).click();
    await film.getByText("kept here").waitFor({ timeout: SHOWN_MS });
    expect(cachedBytes(cache)).toBeGreaterThanOrEqual(FILM_BYTES);
    expect((await device.status())["mounts"]).toMatchObject([{ pins: [{ path: "film", isComplete: true }] }]);

    await page.getByRole("button", { name: "Actions for film" }).click();
    await page.getByRole("menuitem", { name: "Do not keep any more" }).click();
    await film.getByText("here", { exact: true }).waitFor({ timeout: SHOWN_MS });
    await page.getByRole("button", { name: "Actions for film" }).click();
    await page.getByRole("menuitem", { name: "Free the space" }).click();
    await film.getByText("at the server").waitFor({ timeout: SHOWN_MS });
    expect(cachedBytes(cache)).toBeLessThan(FILM_BYTES);

    await refusePin(page);

    await page.getByRole("button", { name: "Actions for reports" }).click();
    await page.getByRole("menuitem", { name: "Pause for one hour" }).click();
    const reports = page.getByRole("row").filter({ hasText: "reports" });
    await reports.getByText(/^paused until /).waitFor({ timeout: SHOWN_MS });
    expect((await device.status())["mounts"]).toMatchObject([{ pausedFolders: [{ path: "reports" }] }]);
    await page.getByRole("button", { name: "Actions for reports" }).click();
    await page.getByRole("menuitem", { name: "Resume" }).click();
    await reports.getByText(/^paused until /).waitFor({ state: "detached", timeout: SHOWN_MS });
    expect((await device.status())["mounts"]).toMatchObject([{ pausedFolders: [] }]);

    // Programs change the drive under the open page, and a folder is gone into.
    await onMount('printf new > "$1/reports/new.txt"; rm "$1/film"', [drive]);
    await film.waitFor({ state: "detached", timeout: SHOWN_MS });
    await page.getByRole("button", { name: "reports", exact: true }).click();
    await page.getByText("new.txt").waitFor({ timeout: SHOWN_MS });
    expect(await page.getByRole("grid", { name: "Files and folders" }).getByRole("row").count()).toBe(2);
    await askForOpeners(page);
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  "in a kept folder of which a part may not come yet, each row says what of it is here",
  async () => {
    for (const folder of ["all", "all/done", "all/later"]) sandbox.makeFolder(join("served", folder));
    writeFileSync(join(served, "all/done/plan.txt"), "plan");
    writeFileSync(join(served, "all/later/film"), randomBytes(FILM_BYTES));
    const { page, complaints } = await openFolders();
    await device.ask(["pause", join(drive, "all/later/film"), "--for", "1h"]);
    await device.ask(["pin", join(drive, "all")]);
    await page.getByRole("button", { name: "all", exact: true }).click();
    const rowOf = (name: string): ReturnType<Page["locator"]> => page.getByRole("row").filter({ hasText: name });
    await rowOf("done").getByText("kept here").waitFor({ timeout: SHOWN_MS });
    await rowOf("later").getByText("not here yet").waitFor({ timeout: SHOWN_MS });
    await device.ask(["resume", join(drive, "all/later/film")]);
    await rowOf("later").getByText("kept here").waitFor({ timeout: SHOWN_MS });
    expect(cachedBytes(cache)).toBeGreaterThanOrEqual(FILM_BYTES);
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);

test(
  `a folder of ${ROWS} has its whole length, few rows in the page, and the keyboard goes to both ends`,
  async () => {
    for (let count = 0; count < ROWS; count++)
      writeFileSync(join(served, `file-${String(count).padStart(6, "0")}`), "");
    sandbox.makeFolder("served/a-folder");
    sandbox.makeFolder("served/z-folder");
    const { page, complaints } = await openFolders();
    await waitFor(
      async () => (await page.getByText(`${(ROWS + 2).toLocaleString("en")} items`).count()) > 0,
      TEST_MS / 2,
      "the whole folder",
    );
    await page.getByRole("button", { name: "a-folder", exact: true }).focus();
    await page.keyboard.press("ArrowDown");
    await page.locator(":focus", { hasText: "z-folder" }).waitFor({ timeout: SHOWN_MS });
    const rows = page.getByRole("grid", { name: "Files and folders" });
    expect(await rows.getAttribute("aria-rowcount")).toBe(String(ROWS + 2));
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await page.locator(':focus[aria-label="Actions for z-folder"]').waitFor({ timeout: SHOWN_MS });
    await page.keyboard.press("End");
    const last = `file-${String(ROWS - 1).padStart(6, "0")}`;
    await page.getByText(last, { exact: true }).waitFor({ timeout: SHOWN_MS });
    expect(await rows.getByRole("row").count()).toBeLessThanOrEqual(IN_PAGE_MAX);
    await page.locator(`:focus[aria-label="Actions for ${last}"]`).waitFor({ timeout: SHOWN_MS });
    expect(await rows.getByRole("row").filter({ hasText: last }).getAttribute("aria-rowindex")).toBe(String(ROWS + 2));
    await page.keyboard.press("Home");
    await page.locator(':focus[aria-label="Actions for a-folder"]').waitFor({ timeout: SHOWN_MS });
    // The whole grid is one stop of Tab.
    await page.keyboard.press("Tab");
    expect(await page.evaluate("document.activeElement.closest('[role=grid]')")).toBe(null);
    expect(complaints).toEqual([]);
  },
  TEST_MS,
);
