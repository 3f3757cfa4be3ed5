// The feed by which the desktop app updates itself on Windows and macOS: latest.yml and latest-mac.yml, as
// electron-builder writes them, of set-ups and archives that were made on several machines. It is believed by nobody:
// the signed list (feed.ts) names the same files by the same digests, and what it does not name is not installed.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Release } from "./tree.ts";

/** Files of the app, by electron-builder.json: its version, processor and kind. */
const APP_FILE = /^Runnel-app-(\d+\.\d+\.\d+)-(x64|arm64)\.(exe|zip|dmg)$/;

/** Name of a feed → files that are for it. An app of macOS takes the first archive for its processor. */
const FEEDS: Readonly<Record<string, readonly string[]>> = { "latest.yml": ["exe"], "latest-mac.yml": ["zip", "dmg"] };

export interface FeedFile {
  name: string;
  sizeBytes: number;
  /** Base64. */
  sha512: string;
}

/** True for a file that electron-builder has made, and signed where it was to. */
export function isAppFile(path: string): boolean {
  return APP_FILE.test(basename(path));
}

/** Digest as electron-updater compares it. */
export function sha512Of(path: string): string {
  return createHash("sha512").update(readFileSync(path)).digest("base64");
}

/** Text of a feed. The first file is for updaters that know of one only. */
export function appFeed({ version, epochSeconds }: Release, files: readonly [FeedFile, ...FeedFile[]]): string {
  const [first] = files;
  const lines = [
    `version: ${version}`,
    "files:",
    ...files.flatMap(({ name, sizeBytes, sha512 }) => [
      `  - url: ${name}`,
      `    sha512: ${sha512}`,
      `    size: ${sizeBytes}`,
    ]),
    `path: ${first.name}`,
    `sha512: ${first.sha512}`,
    `releaseDate: '${new Date(epochSeconds * 1000).toISOString()}'`,
  ];
  return `${lines.join("\n")}\n`;
}

/**
 * Writes the feeds for what lies in `out` of this version.
 * @returns paths of the files and of their feeds
 * @throws Error when there is nothing, or archives for Macs are missing that the app needs to update itself
 */
export function writeAppFeeds(release: Release, out: string): string[] {
  const names = existsSync(out) ? readdirSync(out).toSorted() : [];
  const ours = names.filter((name) => APP_FILE.exec(name)?.[1] === release.version);
  if (ours.length === 0)
    throw new Error(`No app of ${release.version} lies in ${out}: npm run pack:here -- app makes it, on its system.`);
  const alone = ours.find((name) => name.endsWith(".dmg") && !ours.includes(name.replace(/dmg$/, "zip")));
  if (alone !== undefined)
    throw new Error(`${alone} lies in ${out} without its archive (.zip), of which the app updates itself.`);
  const feeds = Object.entries(FEEDS).flatMap(([feed, kinds]) => {
    const [first, ...others] = kinds
      .flatMap((kind) => ours.filter((name) => name.endsWith(`.${kind}`)))
      .map((name) => ({ name, sizeBytes: readFileSync(join(out, name)).length, sha512: sha512Of(join(out, name)) }));
    if (first === undefined) return [];
    writeFileSync(join(out, feed), appFeed(release, [first, ...others]));
    return [feed];
  });
  return [...ours, ...feeds].map((name) => join(out, name));
}
