// The formula by which Homebrew installs Runnel on macOS: a tarball for each processor, run by the Node of the system.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { template } from "./system.ts";
import type { Release } from "./tree.ts";

const FOLDER = fileURLToPath(new URL("../darwin", import.meta.url));

/** Digests in hex of the tarballs, by processor. */
export interface MacDigests {
  arm64: string;
  x64: string;
}

/**
 * Text of the formula.
 * @param downloads where the tarballs will lie
 * @throws Error when that is no place that Homebrew fetches from
 */
export function formula({ version }: Pick<Release, "version">, { arm64, x64 }: MacDigests, downloads: string): string {
  if (!/^https:\/\/[^\s"#\\]+[^\s"#\\/]$/.test(downloads))
    throw new Error(`${downloads} is no place of downloads: write https://HOST/FOLDER.`);
  return template("runnel.rb", { VERSION: version, DOWNLOADS: downloads, ARM: arm64, INTEL: x64 }, FOLDER);
}

/** Writes runnel.rb for tarballs that lie in `out`, in the order of the processors. @returns its path */
export function writeFormula(release: Release, tarballs: readonly string[], out: string, downloads: string): string {
  const [arm64 = "", x64 = ""] = tarballs.map((path) => createHash("sha256").update(readFileSync(path)).digest("hex"));
  const path = join(out, "runnel.rb");
  writeFileSync(path, formula(release, { arm64, x64 }, downloads));
  return path;
}
