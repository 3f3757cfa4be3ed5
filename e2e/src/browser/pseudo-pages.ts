// The pages in a made-up language (`build-pages.mjs --pseudo`): longer words, which must fit, and each of them marked,
// so that one sees what is in no catalogue.
import { readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BrowserContext } from "playwright-core";
import { mustRun } from "../harness/run.ts";

const BUILD = fileURLToPath(new URL("../../../scripts/build-pages.mjs", import.meta.url));
const BUILD_MS = 60_000;

/** Words that a browser's own formats and names of products are made of. */
const FORMATS =
  /\b(bytes?|KB|MB|GB|TB|PB|s|AM|PM|now|ago|in|yesterday|tomorrow|(second|minute|hour|day)s?|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Runnel|Chrome|Linux)\b/g;
const LETTERS_MIN = 2;

export async function buildPseudoPages(folder: string): Promise<void> {
  await mustRun(process.execPath, ["--disable-warning=ExperimentalWarning", BUILD, "--pseudo", folder], {
    deadlineMs: BUILD_MS,
  });
}

/** Runs the scripts of the built page in place of those that agent or server has; the page itself is theirs. */
export async function showPseudo(context: BrowserContext, folder: string, page: string): Promise<void> {
  const assets = join(folder, page, "dist/assets");
  const names = readdirSync(assets).filter((name) => name.endsWith(".js"));
  await context.route("**/assets/*.js", (route) => {
    const asked = basename(new URL(route.request().url()).pathname);
    const name = asked.startsWith("main-") ? names.find((each) => each.startsWith("main-")) : asked;
    return route.fulfill({ path: join(assets, name ?? asked) });
  });
}

/** Returns the sayings that are neither of the catalogue nor of the data that came to the page. */
export function untranslated(sayings: readonly string[], heard: ReadonlySet<string>): string[] {
  const data = [...heard];
  const isData = (text: string): boolean => data.some((each) => each.includes(text));
  return sayings.filter((saying) => {
    let rest = saying;
    while (/⟦[^⟦⟧]*⟧/.test(rest)) rest = rest.replaceAll(/⟦[^⟦⟧]*⟧/g, " ");
    if (isData(rest.trim())) return false;
    const parts = rest.replaceAll(FORMATS, " ").split(/[/\\·,()?]+|\s{2,}/);
    return parts.some((part) => part.replaceAll(/\P{L}/gu, "").length >= LETTERS_MIN && !isData(part.trim()));
  });
}
