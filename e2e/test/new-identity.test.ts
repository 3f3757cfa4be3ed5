// A file that is saved under a new identity, by a temporary file that takes its name, goes as a difference from what it
// replaces.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { SeededRandom } from "@runnel/shared";
import { Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { Device, LinkEmulator } from "../src/harness/index.ts";

/**
 * Sources of a C library, of which an edit changes as many as lie between two of its releases (1.5.5 and 1.5.6), by
 * differences that take as much.
 */
const LIBRARY = join(import.meta.dirname, "..", "..", "node_modules", "zstd-napi", "deps", "zstd", "lib");
const EDITED = 52;
const LINES_AN_EDIT = 240;
const CHANGED_LINES_MAX = 26;
const PATCHES_BYTES = 35_600;
const EDIT_BUDGET_BYTES = 83_300;
const WORDS =
  "static const size_t return if else for while int unsigned char void struct frame block literals sequence offset match length table dictionary context stream output input error".split(
    " ",
  );
/** Costs that a file may have. Each name that is made, moved or removed is a round trip of its own. */
const BUDGETS = new Map([
  ["vim", 3_100],
  ["sed", 1_350],
  ["libreoffice", 2_050],
  ["word", 1_550],
  ["checkout", 950],
]);
const SAVE = join(import.meta.dirname, "fixtures", "save_as_editors.py");
/** Less than the line has, more than a test should need. */
const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 1 };

let sandbox: Sandbox;
let link: LinkEmulator;
let device: Device;
let drive: string;

/**
 * Text like a program's, of 5 to 40 KB, that shrinks to about a fifth; a later release has lines changed all over, the
 * first of them at its head.
 */
function sourceOf(file: number, release: number): string {
  const random = Buffer.from(noise(64 * 1024, file + 1));
  const lines: string[] = [`/* Release ${release}. */`];
  const count = 120 + ((file * 53) % 900);
  for (let line = 0; line < count; line++) {
    const at = (line * 32) % (random.length - 32);
    const words = Array.from(random.subarray(at, at + 7), (byte) => WORDS[byte % WORDS.length]);
    const isChanged = release > 1 && line % 20 === file % 20;
    lines.push(`  ${words.join(" ")}_${random[at + 8] ?? 0}(${isChanged ? `r${release}_${line}` : random[at + 9]});`);
  }
  return `${lines.join("\n")}\n`;
}

/** A file of the source tree, before and after. */
interface Source {
  name: string;
  before: string;
  after: string;
}

/** Makes a file for each editor. */
const generated = (): Source[] =>
  [...BUDGETS.keys()].map((editor, file) => ({
    name: `${editor}.c`,
    before: sourceOf(file, 1),
    after: sourceOf(file, 2),
  }));

/** The largest of the library's. Places all over each have lines of others in place of their own. */
function edited(): Source[] {
  const texts = (readdirSync(LIBRARY, { recursive: true }) as string[])
    .filter((path) => /\.[ch]$/.test(path))
    .map((path) => ({ name: basename(path), before: readFileSync(join(LIBRARY, path), "utf8") }))
    .toSorted((one, other) => other.before.length - one.before.length);
  const news = texts.flatMap(({ before }) => before.split("\n"));
  const random = new SeededRandom(1);
  return texts.slice(0, EDITED).map(({ name, before }) => {
    const lines = before.split("\n");
    for (let edits = 1 + Math.floor(lines.length / LINES_AN_EDIT); edits > 0; edits--) {
      const [at, from] = [random.below(lines.length), random.below(news.length - CHANGED_LINES_MAX)];
      const count = 1 + random.below(CHANGED_LINES_MAX);
      lines.splice(at, random.below(CHANGED_LINES_MAX), ...news.slice(from, from + count));
    }
    return { name, before, after: lines.join("\n") };
  });
}

/** Size that `zstd -19 --patch-from` makes of all of them. */
function patchesBytes(sources: readonly Source[]): number {
  const [before, after] = [sandbox.path("before.c"), sandbox.path("after.c")];
  let bytes = 0;
  for (const source of sources) {
    writeFileSync(before, source.before);
    writeFileSync(after, source.after);
    bytes += execFileSync("zstd", ["-19", "-q", "-c", `--patch-from=${before}`, after], { stdio: "pipe" }).length;
  }
  return bytes;
}

/** A drive of the sources as they are before, all of them read, and so in the cache. */
async function mountWith(sources: readonly Source[]): Promise<void> {
  const served = sandbox.makeFolder("served");
  const folder = join(served, "source");
  mkdirSync(folder);
  mkdirSync(sandbox.path("new"));
  const longAgo = new Date(Date.now() - 3_600_000);
  for (const { name, before, after } of sources) {
    writeFileSync(join(folder, name), before);
    utimesSync(join(folder, name), longAgo, longAgo);
    writeFileSync(sandbox.path("new", name), after);
  }
  const server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port, SHAPE);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  await onMount('cat "$1"/source/* >/dev/null', [drive]);
  await quiet(link);
}

beforeEach(() => {
  sandbox = new Sandbox();
});

afterEach(() => sandbox.cleanup(), 120_000);

/**
 * The bytes that it costs to save new contents over these files, both ways, leases and acks included: when a program
 * has its answer, nothing more is to come.
 */
async function costOfSaving(editor: string, sources: readonly Source[]): Promise<number> {
  const paths = sources.flatMap(({ name }) => [join(drive, "source", name), sandbox.path("new", name)]);
  await link.resetCounts();
  await onMount('shift; python3 "$@"', [drive, SAVE, editor, ...paths], { deadlineMs: 60_000 });
  const { up, down } = await link.counts();
  return up.sentBytes + down.sentBytes;
}

async function expectOnServer(sources: readonly Source[]): Promise<void> {
  await device.flush(drive, { up: true });
  for (const { name, after } of sources)
    expect(readFileSync(sandbox.path("served", "source", name), "utf8")).toBe(after);
}

test("a save by each kind of editor costs little more than what changed", async () => {
  const sources = generated();
  await mountWith(sources);
  const costs = new Map<string, number>();
  for (const [file, editor] of [...BUDGETS.keys()].entries())
    costs.set(editor, await costOfSaving(editor, sources.slice(file, file + 1)));
  await expectOnServer(sources);
  const over = [...BUDGETS].filter(([editor, budget]) => (costs.get(editor) ?? Infinity) > budget);
  expect({ over, costs: over.length > 0 ? costs : undefined }).toEqual({ over: [], costs: undefined });
}, 60_000);

test("an edit of 52 files of a source tree, differences of 36 KB, costs at most 83.3 KB", async () => {
  const sources = edited();
  expect(sources).toHaveLength(EDITED);
  expect(patchesBytes(sources)).toBeGreaterThan(PATCHES_BYTES);
  await mountWith(sources);
  const cost = await costOfSaving("replace", sources);
  await expectOnServer(sources);
  expect(cost).toBeLessThan(EDIT_BUDGET_BYTES);
}, 120_000);
