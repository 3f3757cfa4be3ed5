// Looks for what keeps people out of a page: rules of WCAG 2.2 AA, by axe.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const SCRIPT = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

const TRANSITIONS_ENDED = `Promise.allSettled(
  document.getAnimations().filter((each) => each instanceof CSSTransition).map(({ finished }) => finished))`;

/** Returns what axe finds on the page as it is now, a line each; none when all may use it. */
export async function barriers(page: Page): Promise<string[]> {
  const script = await readFile(SCRIPT, "utf8");
  // Colours on their way to others have a contrast that nobody is to judge.
  await page.evaluate(TRANSITIONS_ENDED);
  // The page's policy lets no script in but its own: this one is run by the browser's debugger.
  const { violations } = (await page.evaluate(
    `${script}; axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`,
  )) as AxeResults;
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(" ")).join(", ")}`);
}
