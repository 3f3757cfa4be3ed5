// Judges a view as somebody meets it: its words, its size, what moves while it comes, and the keyboard.
import type { Page } from "playwright-core";
import type { TestBrowser } from "./browser.ts";
import { walk } from "./keyboard.ts";
import { LineTap } from "./line-tap.ts";
import { showPseudo, untranslated } from "./pseudo-pages.ts";

const SHOWN_MS = 30_000;
/** Sum of shares of the window that moved, times how far (https://web.dev/articles/cls): more is seen by somebody. */
const MOVED_MAX = 0.01;
/** Answers come so late, where it matters what moves. */
const DELAY_MS = 100;
/** Complaint about a line that was refused: through the tap a page learns of that a moment late. */
const LATE_SEND = /^WebSocket is already in CLOSING or CLOSED state/;
export const SIZES = { popover: { width: 400, height: 640 }, window: { width: 1280, height: 800 } } as const;

interface Move {
  value: number;
  names: string[];
}

/** A page in the made-up language, over a line that a test can make slow or have refuse. */
export interface CraftPage {
  page: Page;
  tap: LineTap;
  complaints: string[];
}

/** `pages`: folder of the built pages; `built`: the one that is shown. */
export async function openCraftPage(
  browser: TestBrowser,
  url: string,
  { pages, built }: { pages: string; built: "app/ui" | "server/console" },
): Promise<CraftPage> {
  const tap = new LineTap();
  tap.delayMs = DELAY_MS;
  const opened = await browser.open(url, "light", async (context) => {
    await tap.attach(context);
    await showPseudo(context, pages, built);
  });
  return { ...opened, tap };
}

/** Goes to a view of the page. `isAnew`: loads the whole page for it. */
export async function goTo(page: Page, path: string, isAnew = false): Promise<void> {
  if (isAnew) await page.goto(new URL(path, page.url()).href);
  else await page.evaluate(`probe.go(${JSON.stringify(path)})`);
  await settled(page);
}

/** Waits until all that a view asked for is there. */
export async function settled(page: Page): Promise<void> {
  await page.locator("h1").first().waitFor({ timeout: SHOWN_MS });
  await page.locator(".skeleton").first().waitFor({ state: "detached", timeout: SHOWN_MS });
  await page.evaluate("probe.drawn()");
}

/** Says what is wrong with the view as it has come and is now. */
export async function viewFaults({ page, tap }: CraftPage, isWalked: boolean): Promise<string[]> {
  const moves = await page.evaluate<Move[]>("probe.takeMoves()");
  const moved = moves.reduce((sum, { value }) => sum + value, 0);
  const found = await page.evaluate<string[]>("probe.misfits()");
  if (moved >= MOVED_MAX) found.push(`moved by ${moved.toFixed(3)}: ${moves.flatMap(({ names }) => names).join(", ")}`);
  const sayings = await page.evaluate<string[]>("probe.sayings()");
  found.push(...untranslated(sayings, tap.heard).map((each) => `"${each}" is in no catalogue`));
  if (isWalked) found.push(...(await walk(page)));
  return found;
}

/** Goes to each view in both sizes and says what is wrong with it; `also` looks at more. */
export async function allFaults(
  craft: CraftPage,
  paths: readonly string[],
  settings: { isLong: boolean; also: (path: string, size: keyof typeof SIZES) => Promise<string[]> },
): Promise<string[]> {
  const { page, tap, complaints } = craft;
  const { isLong, also } = settings;
  const found = await viewFaults(craft, false);
  for (const size of ["popover", "window"] as const) {
    const isSmall = size === "popover";
    await page.setViewportSize(SIZES[size]);
    await page.evaluate("probe.drawn()");
    tap.delayMs = isSmall || isLong ? DELAY_MS : 0;
    for (const path of paths) {
      await page.evaluate("probe.takeMoves()");
      await goTo(page, path, isLong);
      const faults = await viewFaults(craft, isLong || !isSmall);
      faults.push(...(await also(path, size)));
      found.push(...faults.map((each) => `${path} ${size}: ${each}`));
    }
  }
  tap.delayMs = 0;
  return [...found, ...complaints.filter((each) => !LATE_SEND.test(each))];
}
