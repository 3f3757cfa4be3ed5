// Files that updating reads: a downloaded file's digest, and whether a copy knows its publisher.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { discardFile, knowsPublisher, lookAtFile } from "../../../src/main/host/update-files.ts";
import { released } from "../updates/releases.ts";

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "runnel-update-"))));
afterEach(() => rmSync(folder, { recursive: true }));

test("a file is known by its length and its SHA-512, and removed once", async () => {
  const { bytes, sizeBytes, sha512 } = released("a.exe", "some bytes".repeat(100_000));
  const path = join(folder, "a.exe");
  writeFileSync(path, bytes);
  expect(await lookAtFile(path)).toEqual({ sizeBytes, sha512 });
  await discardFile(path);
  await discardFile(path);
  await expect(lookAtFile(path)).rejects.toMatchObject({ kind: "NotFound" });
  await expect(lookAtFile(folder)).rejects.toMatchObject({ name: "RunnelError" });
});

const HEAD = "provider: generic\nurl: https://example.org\nupdaterCacheDirName: runnel-updater\n";
test.each([
  ["publisherName:\n  - The Runnel authors\n", true],
  ["publisherName:\n- CN=The Runnel authors\n- CN=Others\nchannel: latest\n", true],
  ["publisherName: The Runnel authors\n", true],
  ["", false],
  ["publisherName:\n", false],
  ["publisherName: null\n", false],
  ["publisherName: []\n", false],
  ["publisherName: ''\nchannel: latest\n", false],
  ["publisherName:\nchannel: latest\n", false],
  ["# publisherName: The Runnel authors\n", false],
])("a copy with %j knows its publisher: %s", async (text, expected) => {
  const path = join(folder, "app-update.yml");
  writeFileSync(path, HEAD + text);
  expect(await knowsPublisher(path)).toBe(expected);
});

test("a copy without a configuration knows none", async () => {
  expect(await knowsPublisher(join(folder, "none.yml"))).toBe(false);
});
