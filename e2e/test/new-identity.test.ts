// A file that is saved under a new identity, by a temporary file that takes its name, goes as a difference from what it replaces.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { Device, LinkEmulator } from "../src/harness/index.ts";

const FILES = 52;
const WORDS =
  "static const size_t return if else for while int unsigned char void struct frame block literals sequence offset match length table dictionary context stream output input error".split(
    " ",
  );
/** What one file may cost. Each name that is made, moved or removed is a round trip of its own. */
const BUDGETS = new Map([
  ["vim", 3_100],
  ["sed", 1_350],
  ["libreoffice", 2_050],
  ["word", 1_550],
  ["checkout", 950],
  ["replace", 1_150],
]);
const SAVE = join(import.meta.dirname, "fixtures", "save_as_editors.py");
/** Less than the line has, more than a test should need. */
const SHAPE = { upBitsPerSecond: 20e6, downBitsPerSecond: 20e6, rttMs: 1 };

let sandbox: Sandbox;
let link: LinkEmulator;
let device: Device;
let drive: string;

/** Text like a program's, of 5 to 40 KB, that shrinks to about a fifth; a later release has lines changed all over, the first of them at its head. */
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

const nameOf = (file: number): string => `module_${file}.c`;

beforeEach(async () => {
  sandbox = new Sandbox();
  const served = sandbox.makeFolder("served");
  const source = join(served, "source");
  mkdirSync(source);
  mkdirSync(sandbox.path("new"));
  const longAgo = new Date(Date.now() - 3_600_000);
  for (let file = 0; file < FILES; file++) {
    writeFileSync(join(source, nameOf(file)), sourceOf(file, 1));
    utimesSync(join(source, nameOf(file)), longAgo, longAgo);
    writeFileSync(sandbox.path("new", nameOf(file)), sourceOf(file, 2));
  }
  const server = await sandbox.startServer({ volumes: { docs: served } });
  link = await sandbox.startEmulator(server.port, SHAPE);
  device = sandbox.device();
  drive = sandbox.makeFolder("drive");
  await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
  // All are read, and so are in the cache.
  await onMount('cat "$1"/source/* >/dev/null', [drive]);
  await quiet(link);
}, 60_000);

afterEach(() => sandbox.cleanup(), 60_000);

/** The bytes that it costs to save new contents over these files, both ways, leases and acks included: when a program has its answer, nothing more is to come. */
async function costOfSaving(editor: string, files: readonly number[]): Promise<number> {
  const paths = files.flatMap((file) => [join(drive, "source", nameOf(file)), sandbox.path("new", nameOf(file))]);
  await link.resetCounts();
  await onMount('shift; python3 "$@"', [drive, SAVE, editor, ...paths], { deadlineMs: 60_000 });
  const { up, down } = await link.counts();
  return up.sentBytes + down.sentBytes;
}

test("an edit of many files of a source tree, and a save by each kind of editor, cost little more than what changed", async () => {
  const costs = new Map<string, number>();
  const editors = [...BUDGETS.keys()].filter((editor) => editor !== "replace");
  for (const [file, editor] of editors.entries()) costs.set(editor, await costOfSaving(editor, [file]));
  const others = Array.from({ length: FILES - editors.length }, (_, file) => file + editors.length);
  const replaced = await costOfSaving("replace", others);
  await device.flush(drive, { up: true });
  for (let file = 0; file < FILES; file++)
    expect(readFileSync(sandbox.path("served", "source", nameOf(file)), "utf8")).toBe(sourceOf(file, 2));
  costs.set("replace", replaced / others.length);
  const over = [...BUDGETS].filter(([editor, budget]) => (costs.get(editor) ?? Infinity) > budget);
  expect({ over, costs: over.length > 0 ? costs : undefined }).toEqual({ over: [], costs: undefined });
}, 60_000);
