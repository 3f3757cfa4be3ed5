// The file that a browser is started with.
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "@jest/globals";
import { EntryFiles } from "../../../src/page/host/entry-file.ts";
import { makeFolder } from "../folders.ts";

const TICKET = "T".repeat(43);
const ENTER = "http://127.0.0.1:4711/enter";

test("posts the ticket, and lies where its user alone can read it", () => {
  const folder = join(makeFolder(), "page");
  const path = new EntryFiles(folder).write(ENTER, TICKET);
  expect(readFileSync(path, "utf8")).toContain(`<form method="post" action="${ENTER}">`);
  expect(readFileSync(path, "utf8")).toContain(`name="ticket" value="${TICKET}"`);
  expect(path).not.toContain(TICKET);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
});

const asRoot = process.getuid?.() === 0 ? test : test.skip;
asRoot("cannot be read by another user of the machine, wherever it lies", () => {
  const base = makeFolder();
  const path = new EntryFiles(join(base, "page")).write(ENTER, TICKET);
  // Even when every folder on the way is open.
  for (const folder of [base, dirname(path)]) chmodSync(folder, 0o755);
  const read = (file: string): string =>
    execFileSync("setpriv", ["--reuid", "54321", "--regid", "54321", "--clear-groups", "cat", file], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  expect(() => read(path)).toThrow(/Permission denied/);
  writeFileSync(join(base, "open"), "for all", { mode: 0o644 });
  expect(read(join(base, "open"))).toBe("for all");
});

test("is gone when it is removed, and what a killed agent left when the next one begins", () => {
  const folder = join(makeFolder(), "page");
  const files = new EntryFiles(folder);
  files.clear();
  const [one, two] = [files.write(ENTER, TICKET), files.write(ENTER, TICKET)];
  writeFileSync(join(folder, "other"), "");
  files.remove(one);
  expect([one, two].map((path) => existsSync(path))).toEqual([false, true]);
  new EntryFiles(folder).clear();
  expect([two, join(folder, "other")].map((path) => existsSync(path))).toEqual([false, true]);
});

test("takes the place of what is there, and writes through no link", () => {
  const folder = join(makeFolder(), "page");
  const first = new EntryFiles(folder).write(ENTER, TICKET);
  const target = join(folder, "target");
  writeFileSync(target, "as it was");
  rmSync(first);
  symlinkSync(target, first);
  const again = new EntryFiles(folder).write(ENTER, "U".repeat(43));
  expect(again).toBe(first);
  expect(readFileSync(again, "utf8")).toContain("UUU");
  expect(readFileSync(target, "utf8")).toBe("as it was");
});
