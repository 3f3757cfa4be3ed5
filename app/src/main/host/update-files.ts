// Files that updating reads: what was downloaded, and what electron-builder has put into a packed app for its updater.
// oxlint-disable-next-line no-restricted-imports -- this process has no Executor, and nothing that waits meanwhile
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { fromSystemError } from "@runnel/shared";
import type { FileFacts } from "../updates/updater.ts";

/** @throws RunnelError when it cannot be read */
export async function lookAtFile(path: string): Promise<FileFacts> {
  const digest = createHash("sha512");
  let sizeBytes = 0;
  try {
    for await (const piece of createReadStream(path) as AsyncIterable<Uint8Array>) {
      digest.update(piece);
      sizeBytes += piece.length;
    }
  } catch (error) {
    throw fromSystemError(error, "read an update");
  }
  return { sizeBytes, sha512: digest.digest("base64") };
}

/** Removes what may not be used. Resolves also where that fails: it is refused again. */
export async function discardFile(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/**
 * Looks whether this copy knows whose certificate a set-up of Windows has to carry (app-update.yml, by
 * electron-builder, which names the publisher where it signs). Without that name electron-updater takes any set-up.
 */
export async function knowsPublisher(path: string): Promise<boolean> {
  try {
    const text = await readFile(path, "utf8");
    const [, names = ""] = /^publisherName:((?:.*\n?)(?:[ \t]*- .*\n?)*)/m.exec(text) ?? [];
    return /[^\s\-'"[\]]/.test(names) && !/^\s*(null|~)\s*$/.test(names);
  } catch {
    return false;
  }
}
