// Folders that are gone after the test.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "@jest/globals";

const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "runnel-page-"));
  folders.push(folder);
  return folder;
}
