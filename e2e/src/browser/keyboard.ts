// Goes through a page by the keyboard alone, as somebody does who has no mouse.
import type { Page } from "playwright-core";

const STOPS_MAX = 300;
const SHOWN_MS = 10_000;
/** A menu that has closed gives the focus back a moment later. */
const FOCUS_MS = 3_000;

interface Stop {
  /** The focus is at no element: Tab went around. */
  isNowhere: boolean;
  isOld: boolean;
  /** Number of the grid's row that it is in; 0 when it is in none. */
  row: number;
  faults: string[];
}

/** Goes once around by Tab. @returns what is wrong: controls that it does not come to, stops that do not show it */
export async function walk(page: Page): Promise<string[]> {
  const faults: string[] = [];
  await page.evaluate("probe.beginWalk()");
  let around = 0;
  for (let count = 0; count < STOPS_MAX && around < 2; count++) {
    const stop = await press(page, "Tab");
    if (stop.isNowhere) around++;
    else if (stop.isOld) break;
    faults.push(...stop.faults);
    if (stop.row > 0) faults.push(...(await walkGrid(page)));
  }
  return [...faults, ...(await page.evaluate<string[]>("probe.unreached()"))];
}

async function press(page: Page, key: string): Promise<Stop> {
  await page.keyboard.press(key);
  return page.evaluate<Stop>("probe.stop()");
}

/** Goes through the first rows of a grid, there and back as a weaver does. */
async function walkGrid(page: Page): Promise<string[]> {
  const faults: string[] = [];
  for (const across of ["ArrowRight", "ArrowLeft", "ArrowRight"]) {
    for (let stop = await press(page, across); !stop.isOld; stop = await press(page, across))
      faults.push(...stop.faults);
    const below = await press(page, "ArrowDown");
    if (below.isOld) break;
    faults.push(...below.faults);
  }
  return faults;
}

export interface DialogWay {
  /** View that has it. */
  path: string;
  /** Selector of the button that opens it, or a menu. */
  opener: string;
  /** Item of the menu that opens it; left out where there is no menu. */
  item?: "first" | "last";
  /** Selector in the dialog that comes once its form is sent; left out where the form itself is looked at. */
  sent?: string;
}

/**
 * Opens a dialog by the keyboard, and closes it by Escape and by its first button of the foot. `look` says what is
 * wrong with it as it is shown.
 */
export async function tryDialog(page: Page, way: DialogWay, look: () => Promise<string[]>): Promise<string[]> {
  const { opener, item, sent } = way;
  const faults: string[] = [];
  const dialog = page.locator("dialog[open]");
  for (const closing of ["Escape", "button"] as const) {
    await page.locator(opener).first().focus({ timeout: SHOWN_MS });
    await page.keyboard.press("Enter");
    if (item !== undefined) {
      await page.locator('[role="menuitem"]:focus').waitFor({ timeout: SHOWN_MS });
      if (item === "last") await page.keyboard.press("End");
      await page.locator(`[role="menuitem"]:${item}-of-type:focus`).waitFor({ timeout: SHOWN_MS });
      await page.keyboard.press("Enter");
    }
    await dialog.waitFor({ timeout: SHOWN_MS });
    if (sent !== undefined) {
      await dialog.locator("footer button:enabled").last().focus({ timeout: SHOWN_MS });
      await page.keyboard.press("Enter");
      await dialog.locator(sent).waitFor({ timeout: SHOWN_MS });
    }
    if (closing === "Escape") {
      faults.push(...(await look()), ...(await walkDialog(page)));
      await page.keyboard.press("Escape");
    } else {
      await dialog.locator("footer button").first().focus();
      await page.keyboard.press("Enter");
    }
    // It is gone a moment after it has closed.
    await page.locator("dialog").waitFor({ state: "detached", timeout: SHOWN_MS });
    if (!(await comesFocus(page, opener))) faults.push(`closed by ${closing}, it does not give back the focus`);
  }
  return faults.map((each) => `${way.path} ${opener} ${item ?? ""} ${sent ?? ""}: ${each}`);
}

/** Opens a menu by the keyboard, and closes it by Escape. */
export async function tryMenu(page: Page, opener: string): Promise<string[]> {
  const faults: string[] = [];
  const menu = page.locator('[role="menu"]');
  await page.locator(opener).first().focus({ timeout: SHOWN_MS });
  await page.keyboard.press("Enter");
  await page.locator('[role="menuitem"]:focus').waitFor({ timeout: SHOWN_MS });
  faults.push(...(await page.evaluate<string[]>("probe.misfits()")));
  for (const key of ["ArrowDown", "Tab", "ArrowUp"]) {
    await page.keyboard.press(key);
    if (!(await isFocusWithin(page, '[role="menu"]'))) faults.push(`${key} leaves the menu`);
  }
  await page.keyboard.press("Escape");
  await menu.waitFor({ state: "detached", timeout: SHOWN_MS });
  if (!(await comesFocus(page, opener))) faults.push("closed by Escape, it does not give back the focus");
  return faults.map((each) => `menu of ${opener}: ${each}`);
}

/** Goes around in a dialog: the focus stays in it, shows, and comes to all of its controls. */
async function walkDialog(page: Page): Promise<string[]> {
  const faults: string[] = [];
  const controls = await page
    .locator("dialog[open]")
    .locator("a[href], button:enabled, input:enabled, select:enabled")
    .count();
  const stops = new Set<number>();
  await page.evaluate("probe.beginWalk()");
  for (let count = 0; count < controls + 2; count++) {
    const stop = await press(page, "Tab");
    if (stop.isNowhere) continue;
    if (!stop.isOld) stops.add(count);
    faults.push(...(stop.isOld ? [] : stop.faults));
    if (!(await isFocusWithin(page, "dialog[open]"))) faults.push("Tab leaves the dialog");
  }
  if (stops.size < controls) faults.push(`Tab comes to ${stops.size} of its ${controls} controls`);
  return faults;
}

/** Waits for the focus on the element. @returns false when it does not come */
async function comesFocus(page: Page, selector: string): Promise<boolean> {
  const focused = page.locator(`:is(${selector}):focus`);
  return focused.waitFor({ timeout: FOCUS_MS }).then(
    () => true,
    () => false,
  );
}

function isFocusWithin(page: Page, selector: string): Promise<boolean> {
  return page.evaluate<boolean>(`probe.isFocusWithin(${JSON.stringify(selector)})`);
}
