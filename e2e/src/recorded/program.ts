// The programs of a recorded run that work on one drive, as a process of its own: JSON lines in, JSON lines out. argv:
// FOLDER, the drive's. When a call begins and ends is taken right before the first system call and right after the
// last.
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { inlineExecutor } from "@runnel/native";
import type { Call, Observation } from "../consistency/check/history.ts";
import { keyOf } from "../consistency/check/truth.ts";
import { monotonicMs } from "./notes.ts";

export interface Order {
  id: number;
  /** tree: all that is there, a line each in `names`. */
  kind: Call["kind"] | "tree";
  path: string;
  toPath?: string;
  /** write: a new content of so many bytes; left out: some bytes in the middle of what is there. */
  sizeBytes?: number;
  /** write: what its content begins with; no two orders have the same. */
  stamp?: string;
  /** write: with fsync, whose return counts. */
  isSynced?: boolean;
}

export interface CallResult {
  id: number;
  beganMs: number;
  endedMs: number;
  errno?: number;
  content?: Observation;
  names?: string[];
}

/** Small, so that a file is read in several steps. */
const PART_BYTES = 8_000;
const STORE = ".runnel-store";
const MISSING: ReadonlySet<unknown> = new Set(["ENOENT", "ENOTDIR"]);

const executor = inlineExecutor();
const [folder = ""] = process.argv.slice(2);

async function key(bytes: Uint8Array): Promise<string> {
  return keyOf(await executor.chunkBytes(bytes));
}

async function readAll(file: FileHandle): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let at = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(PART_BYTES), 0, PART_BYTES, at);
    if (bytesRead === 0) return Buffer.concat(parts);
    parts.push(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/** Resolves to undefined when the file is missing. */
async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (MISSING.has((error as NodeJS.ErrnoException).code)) return undefined;
    throw error;
  }
}

/** Closes it also when `work` fails. */
async function using<T>(file: FileHandle, work: () => Promise<T>): Promise<T> {
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await file.close().catch(() => undefined);
    throw error;
  }
  await file.close();
  return result;
}

async function read(done: CallResult, path: string): Promise<void> {
  try {
    const file = await unlessMissing(open(path, "r"));
    const bytes = file && (await using(file, () => readAll(file)));
    done.endedMs = monotonicMs();
    if (bytes !== undefined) done.content = await key(bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error;
    done.content = "folder";
  }
}

async function write(done: CallResult, path: string, { sizeBytes, stamp = "", isSynced }: Order): Promise<void> {
  const start = Buffer.from(`${stamp} `);
  const isNew = sizeBytes !== undefined;
  const file = await open(path, isNew ? constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC : constants.O_RDWR);
  await using(file, async () => {
    const held = isNew ? undefined : await readAll(file);
    const patch = isNew ? Buffer.concat([start, randomBytes(Math.max(0, sizeBytes - start.length))]) : start;
    const at = held === undefined ? 0 : Math.max(0, Math.floor((held.length - patch.length) / 2));
    const whole = Buffer.alloc(Math.max(held?.length ?? 0, at + patch.length));
    if (held !== undefined) whole.set(held);
    whole.set(patch, at);
    done.content = await key(whole);
    // Without it the close of a file that was only made does not wait for the server.
    if (isNew) await file.truncate(0);
    await file.write(patch, 0, patch.length, at);
    if (isSynced !== true) return;
    await file.sync();
    done.endedMs = monotonicMs();
  });
}

async function tree(path: string): Promise<string[]> {
  const lines: string[] = [];
  for (const { name } of (await readdir(join(folder, path), { withFileTypes: true })).toSorted(byName)) {
    if (name === STORE) continue;
    const below = path === "" ? name : `${path}/${name}`;
    if ((await lstat(join(folder, below))).isDirectory()) {
      lines.push(`${below}/`, ...(await tree(below)));
      continue;
    }
    const file = await open(join(folder, below), "r");
    lines.push(`${below} ${await key(await using(file, () => readAll(file)))}`);
  }
  return lines;
}

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1;
}

async function look(done: CallResult, path: string): Promise<void> {
  const found = await unlessMissing(lstat(path));
  if (found !== undefined) done.content = found.isDirectory() ? "folder" : String(found.size);
}

async function list(done: CallResult, path: string): Promise<void> {
  const names = await unlessMissing(readdir(path));
  done.endedMs = monotonicMs();
  if (names !== undefined) done.names = names.toSorted();
}

async function act(order: Order, done: CallResult): Promise<void> {
  const path = join(folder, order.path);
  const toPath = join(folder, order.toPath ?? "");
  const { kind } = order;
  if (kind === "read") await read(done, path);
  else if (kind === "list") await list(done, path);
  else if (kind === "look") await look(done, path);
  else if (kind === "write") await write(done, path, order);
  else if (kind === "create") await (await open(path, "wx")).close();
  else if (kind === "remove") await unlink(path);
  else if (kind === "rename") await rename(path, toPath);
  else if (kind === "link") await link(path, toPath);
  else if (kind === "make") await mkdir(path);
  else done.names = await tree(order.path);
}

async function answer(order: Order): Promise<void> {
  const done: CallResult = { id: order.id, beganMs: monotonicMs(), endedMs: 0 };
  try {
    await act(order, done);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw error;
    done.errno = Math.abs(errno);
    done.endedMs = 0;
  }
  if (done.endedMs === 0) done.endedMs = monotonicMs();
  process.stdout.write(`${JSON.stringify(done)}\n`);
}

createInterface({ input: process.stdin })
  .on("line", (line) => void answer(JSON.parse(line) as Order))
  .on("close", () => process.exit(0));
