// Releases of the desktop app for tests: files with their digests, the signed list that names them, and the feed's own
// file as electron-builder writes it.
import { createHash } from "node:crypto";
import type { Feed } from "../../../src/cli/updates/signed-feed.ts";
import type { FileFacts } from "../../../src/main/updates/updater.ts";

export interface ReleasedFile extends FileFacts {
  name: string;
  bytes: Buffer;
}

export function released(name: string, text: string): ReleasedFile {
  const bytes = Buffer.from(text);
  return { name, bytes, sizeBytes: bytes.length, sha512: createHash("sha512").update(bytes).digest("base64") };
}

const DAY_MS = 86_400_000;

/** List of a version, which is good at `nowMs`. */
export function listOf(version: string, files: readonly ReleasedFile[], nowMs: number): Feed {
  const packages = files.map(({ name, bytes, sizeBytes, sha512 }) => {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return { name, sizeBytes, sha256, sha512 };
  });
  return { version, releasedMs: nowMs - DAY_MS, expiresMs: nowMs + 10 * DAY_MS, packages };
}

/** Words of the feed on the version, as electron-updater has read them. */
export function offerOf(version: string, files: readonly ReleasedFile[]): object {
  const [first] = files;
  return {
    version,
    files: files.map(({ name, sha512, sizeBytes }) => ({ url: name, sha512, size: sizeBytes })),
    path: first?.name,
    sha512: first?.sha512,
    releaseDate: "2026-11-28T10:00:00.000Z",
  };
}

/** The same as the file that electron-builder writes (latest.yml). `more`: further lines. */
export function feedText(version: string, files: readonly ReleasedFile[], ...more: string[]): string {
  const [first] = files;
  return [
    `version: ${version}`,
    "files:",
    ...files.flatMap(({ name, sha512, sizeBytes }) => [
      `  - url: ${name}`,
      `    sha512: ${sha512}`,
      `    size: ${sizeBytes}`,
    ]),
    `path: ${first?.name}`,
    `sha512: ${first?.sha512}`,
    "releaseDate: '2026-11-28T10:00:00.000Z'",
    ...more,
    "",
  ].join("\n");
}
