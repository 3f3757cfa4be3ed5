// Texts by which Homebrew installs Runnel on macOS: a formula for the tarballs, run by the Node of the system, and a
// cask for the images of the desktop app. Both name what lies elsewhere by its digest.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { template } from "./system.ts";
import type { Release } from "./tree.ts";

const FOLDER = fileURLToPath(new URL("../darwin", import.meta.url));

/** Digests in hex of what is for each processor. */
export interface MacDigests {
  arm64: string;
  x64: string;
}

/**
 * Text of the formula.
 * @param downloads where the tarballs will lie
 * @throws Error when that is no place that Homebrew fetches from
 */
export function formula(release: Pick<Release, "version">, digests: MacDigests, downloads: string): string {
  return filledIn("runnel.rb", release, digests, downloads);
}

/** Text of the cask, for images Runnel-app-VERSION-PROCESSOR.dmg. Else as `formula`. */
export function cask(release: Pick<Release, "version">, digests: MacDigests, downloads: string): string {
  return filledIn("runnel-app.rb", release, digests, downloads);
}

function filledIn(
  name: string,
  { version }: Pick<Release, "version">,
  { arm64, x64 }: MacDigests,
  downloads: string,
): string {
  if (!/^https:\/\/[^\s"#\\]+[^\s"#\\/]$/.test(downloads))
    throw new Error(`${downloads} is no place of downloads: write https://HOST/FOLDER.`);
  return template(name, { VERSION: version, DOWNLOADS: downloads, ARM: arm64, INTEL: x64 }, FOLDER);
}

/** Writes runnel.rb for tarballs that lie in `out`, in the order of the processors. @returns its path */
export function writeFormula(release: Release, tarballs: readonly string[], out: string, downloads: string): string {
  const path = join(out, "runnel.rb");
  writeFileSync(path, formula(release, digestsOf(tarballs), downloads));
  return path;
}

/** Writes runnel-app.rb for images that lie in `out`. @returns its path @throws Error when one is missing */
export function writeCask(release: Release, out: string, downloads: string): string {
  const images = ["arm64", "x64"].map((processor) => join(out, `Runnel-app-${release.version}-${processor}.dmg`));
  const missing = images.find((image) => !existsSync(image));
  if (missing !== undefined) throw new Error(`${missing} is missing, which electron-builder makes on a Mac.`);
  const path = join(out, "runnel-app.rb");
  writeFileSync(path, cask(release, digestsOf(images), downloads));
  return path;
}

function digestsOf(paths: readonly string[]): MacDigests {
  const [arm64 = "", x64 = ""] = paths.map((path) => createHash("sha256").update(readFileSync(path)).digest("hex"));
  return { arm64, x64 };
}
