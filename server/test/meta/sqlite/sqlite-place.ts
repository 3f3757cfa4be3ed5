// A place for sqlite meta stores: a folder in the system's temporary one.
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteMetaStore } from "../../../src/meta/sqlite/meta-store.ts";
import type { Place } from "../meta-harness.ts";

const made: string[] = [];

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runnel-meta-"));
  made.push(folder);
  return folder;
}

/** A copy that a test may damage. */
export function copyFolder(from: string): string {
  const folder = newFolder();
  cpSync(from, folder, { recursive: true });
  return folder;
}

/** After the tests of a file. */
export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export function sqlitePlace(): Place {
  const folder = newFolder();
  return {
    open: (options) => openSqliteMetaStore(folder, options),
    discard: () => {
      rmSync(folder, { recursive: true, force: true });
      if (!existsSync(folder)) mkdirSync(folder);
    },
  };
}
