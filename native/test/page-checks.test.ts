// The layer that checks SQLite's pages, where it could do harm. That it notices wrong bytes is shown by those who keep
// databases.
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "@jest/globals";
import { pageChecks } from "../index.ts";

const SCRIPT = `
import { join } from "node:path";
import Library from "better-sqlite3";
import { DatabaseSync } from "node:sqlite";
const checks = process.argv[1];
new Library(":memory:").loadExtension(checks);
const first = new Library(join(process.argv[2], "database"));
const other = new DatabaseSync(":memory:", { allowExtension: true });
try {
  other.loadExtension(checks);
} catch (error) {
  console.log(error.message);
}
other.exec("CREATE TABLE t (a)");
first.exec("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
console.log(first.prepare("SELECT runnel_wrong_page() AS page, a FROM t").get());
`;

test("is for one SQLite library of a process: another one is refused, and both go on", async () => {
  // Runs in a process of its own: two in one are what this is about.
  const folder = await mkdtemp(join(tmpdir(), "runnel-pages-"));
  const args = ["--input-type=module", "-e", SCRIPT, pageChecks(), folder];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname, timeout: 20_000 });
  await rm(folder, { recursive: true });
  expect(stdout).toContain(
    "Pages are checked for one SQLite library in a process, and another one has them already.\n",
  );
  expect(stdout).toContain("{ page: 0, a: 1 }\n");
});
