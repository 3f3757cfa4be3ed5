// Fetches a file of somebody else's once and keeps it, if it is the one that was meant: told by its SHA-256.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

export interface PinnedFile {
  url: string;
  /** Hex digits. */
  sha256: string;
}

/**
 * Path of the file in `folder`. One that is there already is not fetched again.
 * @throws Error when it cannot be fetched, or is another; then nothing is left in the folder.
 */
export async function fetchPinned({ url, sha256 }: PinnedFile, folder: string): Promise<string> {
  const path = join(folder, basename(new URL(url).pathname));
  if (existsSync(path) && (await sha256Of(path)) === sha256) return path;
  mkdirSync(folder, { recursive: true });
  const unfinished = `${path}.unfinished`;
  try {
    const answer = await fetch(url);
    if (!answer.ok || answer.body === null) throw new Error(`${url} was answered ${answer.status}.`);
    await pipeline(Readable.fromWeb(answer.body as ReadableStream), createWriteStream(unfinished));
    const is = await sha256Of(unfinished);
    if (is !== sha256) throw new Error(`${url} is not what it was: its SHA-256 is ${is}, not ${sha256}.`);
    renameSync(unfinished, path);
    return path;
  } finally {
    rmSync(unfinished, { force: true });
  }
}

async function sha256Of(path: string): Promise<string> {
  const digest = createHash("sha256");
  for await (const bytes of createReadStream(path)) digest.update(bytes as Buffer);
  return digest.digest("hex");
}
