// Looks of every view of window and console: in both sizes, light and dark, full, empty, failed, and without who
// answers. Nothing that axe finds, nothing that goes over the edge or is cut in longer words, nothing that moves when
// it comes, nothing that only a mouse can use. The shots of all lie side by side in one page, for a person to look at:
// e2e/looks/index.html.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import type { Page } from "playwright-core";
import { barriers } from "../src/browser/axe.ts";
import { type OpenPage, TestBrowser } from "../src/browser/browser.ts";
import {
  type CraftPage,
  SIZES as CRAFT_SIZES,
  allFaults,
  goTo,
  openCraftPage,
  settled,
  viewFaults,
} from "../src/browser/craft.ts";
import { type DialogWay, tryDialog, tryMenu, walk } from "../src/browser/keyboard.ts";
import { buildPseudoPages } from "../src/browser/pseudo-pages.ts";
import { type Device, Sandbox, type ServerProcess, onMount, waitFor } from "../src/harness/index.ts";

const LONG = process.env["RUNNEL_LONG"] === "1";
const SHOTS = fileURLToPath(new URL("../looks/", import.meta.url));
const DISTS = ["app/ui", "server/console"].map((page) =>
  fileURLToPath(new URL(`../../${page}/dist/assets/`, import.meta.url)),
);
const SCHEMES = LONG ? (["light", "dark"] as const) : (["light"] as const);
const SIZES = { popover: { width: 400, height: 640 }, window: { width: 1100, height: 760 } };
const VIEWS = ["Home", "Savings", "Folders", "Conflicts", "Add a drive", "Settings", "Help"];
const CONSOLE_PATHS = [
  "/",
  "/volumes",
  "/volumes/docs",
  "/volumes/docs/people",
  "/people",
  "/people/devices",
  "/people/invites",
  "/person/ada",
  "/live",
  "/live/files",
  "/live/leases",
  "/live/transfers",
  "/audit",
  "/settings",
  "/account",
];
/** Views whose tables have rows while a drive is at work. */
const FULL_PATHS = ["/live", "/live/files", "/live/leases", "/people/devices", "/volumes/docs/people"];
const ACTIONS = ".page-head .actions button";
const ROW_BUTTON = ".row-end button";
const CONSOLE_DIALOGS: readonly DialogWay[] = [
  { path: "/volumes", opener: ACTIONS },
  { path: "/volumes", opener: ROW_BUTTON, item: "first" },
  { path: "/volumes/docs", opener: ACTIONS, sent: ".invite-result" },
  { path: "/people", opener: `${ACTIONS}:nth-of-type(1)` },
  { path: "/people", opener: `${ACTIONS}:nth-of-type(2)` },
  { path: "/people/devices", opener: ROW_BUTTON, item: "first" },
  { path: "/people/devices", opener: ROW_BUTTON, item: "last" },
  { path: "/people/invites", opener: ROW_BUTTON },
  { path: "/person/ada", opener: `${ACTIONS}:nth-of-type(1)` },
  { path: "/person/ada", opener: `${ACTIONS}:nth-of-type(2)` },
  { path: "/person/ada", opener: `${ACTIONS}:nth-of-type(3)` },
  { path: "/person/ada", opener: `${ACTIONS}:nth-of-type(4)` },
  { path: "/live", opener: ROW_BUTTON },
];
const WINDOW_DIALOGS: readonly DialogWay[] = [
  { path: "/", opener: ".items button", item: "last" },
  { path: "/folders", opener: '[role="gridcell"] [aria-haspopup]', item: "last" },
  { path: "/settings", opener: ".items button" },
];
const REFUSAL = "⟦The disk is tired. Let it rest.⟧";
const PASSWORD = "a long password of ada";
/** JavaScript of a page, compressed. */
const SCRIPT_BYTES_MAX = 250 * 1024;
const SHOWN_MS = 30_000;
const TEST_MS = 240_000;

let browser: TestBrowser;
let sandbox: Sandbox;
let device: Device;
let server: ServerProcess;
let served: string;
/** Pages in the made-up language. */
let pseudo: string;
let windowPage: CraftPage;
let consolePage: CraftPage;
const shots: { name: string; file: string }[] = [];

beforeAll(async () => {
  sandbox = new Sandbox();
  device = sandbox.device();
  served = sandbox.makeFolder("served");
  pseudo = sandbox.makeFolder("pseudo");
  const offer = ["--offer", sandbox.makeFolder("offered")];
  sandbox.makeFolder("offered", "plans");
  const started = sandbox.startServer({ volumes: { docs: served }, listen: "127.0.0.1:0", args: ["--tls", ...offer] });
  [browser, server] = await Promise.all([TestBrowser.start(), started, buildPseudoPages(pseudo)]);
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

async function shoot(page: Page, name: string): Promise<void> {
  const file = `${name.replaceAll(/\W+/g, "-")}.png`;
  await page.screenshot({ path: join(SHOTS, file) });
  shots.push({ name, file });
}

/** Says what is wrong with the page as it is now. */
async function faults(page: Page, name: string): Promise<string[]> {
  await shoot(page, name);
  const found = await barriers(page);
  const over = await page.evaluate<number>(
    "document.documentElement.scrollWidth - document.documentElement.clientWidth",
  );
  if (over > 0) found.push(`goes ${over} pixels over the edge`);
  return found.map((each) => `${name}: ${each}`);
}

/** Opens each view in each size; what is wrong with it. In a short run only one state is seen in the large size too. */
async function allViews(state: string, shown: string): Promise<string[]> {
  const found: string[] = [];
  const sizes = Object.entries(SIZES).slice(0, LONG || state === "full" ? undefined : 1);
  for (const scheme of SCHEMES) {
    for (const [size, viewport] of sizes) {
      const { page, complaints } = await browser.open(await link(), scheme);
      await page.setViewportSize(viewport);
      await page.getByText(shown).first().waitFor({ timeout: SHOWN_MS });
      for (const view of VIEWS) {
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view }).click();
        await page.locator(".skeleton").first().waitFor({ state: "detached", timeout: SHOWN_MS });
        found.push(...(await faults(page, `${state} ${view} ${size} ${scheme}`)));
      }
      found.push(...complaints.map((each) => `${state} ${size}: ${each}`));
      await page.context().close();
    }
  }
  return found;
}

async function openLongWords(): Promise<CraftPage> {
  return openCraftPage(browser, await link(), { pages: pseudo, built: "app/ui" });
}

/** Paths of the window's views, as its bar has them. */
function pathsOf({ page }: CraftPage): Promise<string[]> {
  return page.evaluate("[...document.querySelectorAll('.window > nav a')].map((a) => a.pathname)");
}

test(
  "without a drive every view says how to get the first one",
  async () => {
    const found = await allViews("empty", "No drive is mapped");
    if (LONG) {
      const empty = await openLongWords();
      await settled(empty.page);
      found.push(...(await longWordFaults(empty, "empty", await pathsOf(empty), { dialogs: [] })));
    }
    expect(found).toEqual([]);
  },
  TEST_MS,
);

/** Goes to each view of a page in longer words, and tries its dialogs and a menu while it is small. */
function longWordFaults(craft: CraftPage, name: string, paths: readonly string[], tried: Tried): Promise<string[]> {
  const { page } = craft;
  const look = async (): Promise<string[]> => {
    await settled(page);
    return page.evaluate<string[]>("probe.misfits()");
  };
  const also = async (path: string, size: string): Promise<string[]> => {
    if (LONG) await shoot(page, `${name} ${path} ${size} longer words`);
    if (size !== "popover") return [];
    const found = path === tried.menu?.path ? await tryMenu(page, tried.menu.opener) : [];
    for (const way of tried.dialogs.filter((each) => each.path === path))
      found.push(...(await tryDialog(page, way, look)));
    return found;
  };
  return allFaults(craft, paths, { isLong: LONG, also });
}

/** Says what is wrong with a form at the door, large and small. */
async function doorFaults(craft: CraftPage): Promise<string[]> {
  const found = await viewFaults(craft, true);
  await craft.page.setViewportSize(CRAFT_SIZES.popover);
  await craft.page.evaluate("probe.drawn()");
  found.push(...(await craft.page.evaluate<string[]>("probe.misfits()")));
  // All that moved has moved by another size.
  await craft.page.evaluate("probe.takeMoves()");
  return found;
}

/** Makes a volume of the folder that is offered: its row has a menu. */
async function makeVolume(page: Page): Promise<void> {
  await goTo(page, "/volumes");
  await page.locator(ACTIONS).click();
  const dialog = page.locator("dialog[open]");
  for (const folder of ["offered", "plans"])
    await dialog.locator(".chooser button", { hasText: folder }).click({ timeout: SHOWN_MS });
  await dialog.locator("footer button:enabled").last().click({ timeout: SHOWN_MS });
  await dialog.waitFor({ state: "detached", timeout: SHOWN_MS });
  await page.locator(ROW_BUTTON).first().waitFor({ timeout: SHOWN_MS });
  // The row that was asked for moves others.
  await page.evaluate("probe.takeMoves()");
}

interface Tried {
  dialogs: readonly DialogWay[];
  menu?: { path: string; opener: string };
}

test(
  "with a drive at work, every view can be read and used by everybody",
  async () => {
    for (const name of ["reports", "photos of a summer with quite a long name", "music"]) {
      mkdirSync(join(served, name));
      writeFileSync(join(served, name, "notes.txt"), "text ".repeat(1000));
    }
    writeFileSync(join(served, "budget.ods"), Buffer.alloc(3_000_000, "figures "));
    const { invite } = await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
    await device.ask(["login", String(invite), "--name", "ada-laptop"]);
    const drive = sandbox.makeFolder("drive");
    await device.mount(`${server.url}/docs`, drive);
    await onMount('until cat "$1/budget.ods" > /dev/null; do sleep 0.1; done; cp "$1/budget.ods" "$1/copy.ods"', [
      drive,
    ]);
    await device.ask(["pin", join(drive, "reports")]);
    await device.flush(drive);
    expect(await allViews("full", "Everything is saved on the server.")).toEqual([]);
  },
  TEST_MS,
);

test(
  "the window in longer words fits, has no other words, stands still, and needs no mouse",
  async () => {
    windowPage = await openLongWords();
    await settled(windowPage.page);
    const found = await longWordFaults(windowPage, "full", await pathsOf(windowPage), {
      dialogs: WINDOW_DIALOGS,
      menu: { path: "/folders", opener: '[role="gridcell"] [aria-haspopup]' },
    });
    expect(found).toEqual([]);
  },
  TEST_MS,
);

test(
  "so does the console, with its door",
  async () => {
    const at = (path: string): string => `https://127.0.0.1:${server.port}${path}`;
    await sandbox.device("admin").ask(["invite", "docs", "--data", sandbox.path("data")]);
    const setUp = `/${new URL(server.console?.setUpLink ?? server.url).hash}`;
    consolePage = await openCraftPage(browser, at(setUp), { pages: pseudo, built: "server/console" });
    const { page, tap } = consolePage;
    await settled(page);
    const found = await doorFaults(consolePage);
    await page.locator("input[autocomplete='username']").fill("ada");
    await page.locator("input[type='password']").fill(PASSWORD);
    await page.keyboard.press("Enter");
    await page.locator("nav a").first().waitFor({ timeout: SHOWN_MS });
    // The administrator's own name is data of the page from now on.
    tap.heard.add("ada");
    await makeVolume(page);
    const tried = { dialogs: CONSOLE_DIALOGS, menu: { path: "/", opener: ".account" } };
    found.push(...(await longWordFaults(consolePage, "console", CONSOLE_PATHS, tried)));
    const door = await openCraftPage(browser, at("/"), { pages: pseudo, built: "server/console" });
    await settled(door.page);
    found.push(...(await doorFaults(door)).map((each) => `sign-in: ${each}`));
    await door.page.context().close();
    expect(found).toEqual([]);
  },
  TEST_MS,
);

/** Signs in as the administrator, in the words that people read. */
async function openConsole(scheme: "light" | "dark"): Promise<OpenPage> {
  const opened = await browser.open(`https://127.0.0.1:${server.port}/`, scheme);
  await opened.page.locator("input[autocomplete='username']").fill("ada");
  await opened.page.locator("input[type='password']").fill(PASSWORD);
  await opened.page.keyboard.press("Enter");
  await opened.page.locator("nav a").first().waitFor({ timeout: SHOWN_MS });
  return opened;
}

test(
  "the console, full, can be read and used by everybody in all of its tabs",
  async () => {
    const found: string[] = [];
    const sizes = Object.entries(SIZES).filter(([size]) => LONG || size === "window");
    for (const scheme of SCHEMES) {
      const { page, complaints } = await openConsole(scheme);
      for (const [size, viewport] of sizes) {
        await page.setViewportSize(viewport);
        const reader = await openReader(`minutes of ${size} ${scheme}.txt`);
        try {
          for (const path of LONG ? CONSOLE_PATHS : FULL_PATHS) {
            await goTo(page, path);
            if (FULL_PATHS.includes(path)) await page.locator("tbody tr").first().waitFor({ timeout: SHOWN_MS });
            found.push(...(await faults(page, `console ${path} ${size} ${scheme}`)));
          }
        } finally {
          reader.kill();
        }
        if (LONG) found.push(...(await transferFaults(page, `console /live/transfers, one held, ${size} ${scheme}`)));
      }
      found.push(...complaints);
      await page.context().close();
    }
    expect(found).toEqual([]);
  },
  LONG ? 3 * TEST_MS : TEST_MS,
);

/** Starts a program that has a file of the drive open, which another program has made on the server. */
async function openReader(name: string): Promise<ChildProcess> {
  writeFileSync(join(served, name), "minutes ".repeat(1000));
  const path = sandbox.path("drive", name);
  await onMount('until cat "$1" > /dev/null; do sleep 0.1; done', [path]);
  return spawn("tail", ["-f", path], { stdio: "ignore" });
}

/** Says what is wrong with a transfer as it is shown: of a file that is being sent, whose agent is held meanwhile. */
async function transferFaults(page: Page, name: string): Promise<string[]> {
  await goTo(page, "/live/transfers");
  const drive = sandbox.path("drive");
  const held = new AbortController();
  // A file may have been sent before the page shows it.
  const send = async (): Promise<void> => {
    while (!held.signal.aborted) {
      await onMount('head -c 200000000 /dev/urandom > "$1/film.bin"', [drive]);
      await device.flush(drive, { up: true });
    }
    await onMount('rm "$1/film.bin"', [drive]);
  };
  const sending = send();
  const agent = device.agentPid();
  try {
    await page.locator("tbody tr").filter({ hasText: "film.bin" }).waitFor({ timeout: SHOWN_MS });
    process.kill(agent, "SIGSTOP");
    return await faults(page, name);
  } finally {
    held.abort();
    process.kill(agent, "SIGCONT");
    await sending;
  }
}

test(
  "a view whose question fails says so and asks again, and awaits nothing",
  async () => {
    const found: string[] = [];
    const views = [
      { craft: windowPage, from: "/add", paths: ["/folders", "/conflicts", "/settings", "/help", "/savings"] },
      {
        craft: consolePage,
        from: "/account",
        paths: [...CONSOLE_PATHS.filter((path) => path !== "/settings"), "/settings"],
      },
    ];
    for (const { craft, from, paths } of views) {
      const { page, tap } = craft;
      if (craft === windowPage) found.push(...(await homeFailure(craft)));
      await goTo(page, from);
      tap.refusal = REFUSAL;
      for (const path of paths) {
        await goTo(page, path);
        await page.getByRole("alert").filter({ hasText: REFUSAL }).first().waitFor({ timeout: SHOWN_MS });
        await settled(page);
        if ((await page.getByRole("alert").getByRole("button").count()) === 0)
          found.push(`${path}: no way to ask again`);
        found.push(...(await page.evaluate<string[]>("probe.misfits()")).map((each) => `${path}: ${each}`));
        if (LONG || path === paths[0]) found.push(...(await faults(page, `failed ${path}`)));
      }
      tap.refusal = "";
      await page.getByRole("alert").getByRole("button").first().click();
      await page.getByRole("alert").first().waitFor({ state: "detached", timeout: SHOWN_MS });
      await settled(page);
      found.push(...(await walk(page)));
    }
    expect(found).toEqual([]);
  },
  TEST_MS,
);

/** Says what is wrong with Home when its own question fails, which is the one of the whole page; it is asked again. */
async function homeFailure({ page, tap }: CraftPage): Promise<string[]> {
  tap.refusal = REFUSAL;
  await goTo(page, "/", true);
  const alert = page.getByRole("alert").filter({ hasText: REFUSAL });
  await alert.getByRole("button").waitFor({ timeout: SHOWN_MS });
  await settled(page);
  const found = await page.evaluate<string[]>("probe.misfits()");
  found.push(...(await faults(page, "failed Home")));
  tap.refusal = "";
  await alert.waitFor({ state: "detached", timeout: SHOWN_MS });
  await page.locator("section.card").first().waitFor({ timeout: SHOWN_MS });
  return found;
}

test(
  "without who answers, a view shows what was so at last, and says that the rest is not known",
  async () => {
    const { page } = await browser.open(await link());
    await page.getByText("Everything is saved on the server.").first().waitFor({ timeout: SHOWN_MS });
    const printed = await device.ask(["console", "--print", "--data", sandbox.path("data")]);
    const admin = await browser.open((printed as { page: { link: string } }).page.link);
    await goTo(admin.page, "/volumes");
    await admin.page.getByRole("link", { name: "docs", exact: true }).waitFor({ timeout: SHOWN_MS });
    await server.kill();
    const found = await staleConsole(admin.page);
    await page.getByRole("heading", { level: 1, name: /Offline/ }).waitFor({ timeout: SHOWN_MS });
    found.push(...(await faults(page, "offline Home window light")));
    const { pid } = (await device.status())["agent"] as { pid: number };
    process.kill(pid, "SIGKILL");
    await page.getByText("This page has ended").waitFor({ timeout: SHOWN_MS });
    // Says nothing that nobody can know now.
    expect(await page.getByText("You may switch off").count()).toBe(0);
    for (const view of VIEWS) {
      await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view }).click();
      await settled(page);
      if (["Savings", "Folders", "Conflicts", "Settings", "Help"].includes(view))
        await page.getByText("Not known: the agent does not answer this page.").first().waitFor({ timeout: SHOWN_MS });
      found.push(...(await faults(page, `stale ${view} window light`)));
    }
    await waitFor(() => !readdirSync("/proc").includes(String(pid)), SHOWN_MS, "the end of the agent");
    expect(found).toEqual([]);
  },
  TEST_MS,
);

/** Says what is wrong with each view of a console whose server has ended; it is at the volumes. */
async function staleConsole(page: Page): Promise<string[]> {
  const found: string[] = [];
  await page.getByText("The server does not answer. What you see").waitFor({ timeout: SHOWN_MS });
  expect(await page.getByRole("alert").count()).toBe(1);
  expect(await page.getByRole("link", { name: "docs", exact: true }).count()).toBe(1);
  for (const path of CONSOLE_PATHS) {
    await goTo(page, path);
    await page.getByText("Not known until the server answers.").first().waitFor({ timeout: SHOWN_MS });
    if (LONG) found.push(...(await faults(page, `stale console ${path}`)));
  }
  found.push(...(await faults(page, "stale console window light")));
  return found;
}

test("each page is small, and the window's chart comes only when it is wanted", () => {
  const charts = DISTS.map((folder) => {
    const scripts = readdirSync(folder).filter((name) => name.endsWith(".js"));
    const others = scripts.filter((name) => !name.startsWith("chart"));
    expect(others.length).toBeGreaterThan(0);
    const bytes = others.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
    expect(bytes).toBeLessThanOrEqual(SCRIPT_BYTES_MAX);
    return scripts.length - others.length;
  });
  expect(charts).toEqual([1, 0]);
});
