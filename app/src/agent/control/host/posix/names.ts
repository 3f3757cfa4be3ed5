// Names of files on Linux and macOS.
/* oxlint-disable node/no-sync -- small files, when a person acts */
import { closeSync, fsyncSync, openSync, renameSync } from "node:fs";

export function replace(from: string, to: string): void {
  renameSync(from, to);
}

export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
