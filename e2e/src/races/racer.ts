// A program that saves files on a drive while it writes to the same files in the served folder, some milliseconds
// before or after, and looks each time whether both contents are there in the end: in the file, in a conflict copy, or
// among the server's old versions. A process of its own: it touches a mount.
//
// Arguments: the drive, the served folder, settings as JSON (RaceSettings). Prints a RaceReport as JSON.
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

export interface RaceSettings {
  trials: number;
  /** Files raced at once; each trial has a file of its own. */
  parallel: number;
  /** Files of these lengths in turn. */
  sizesBytes: readonly number[];
  seed: number;
}

export interface RaceReport {
  acknowledged: number;
  /** Count of those on files that the drive had read before. */
  ofCached: number;
  /** Closes that failed: what they wrote need not be there. */
  refused: number;
  /** A content that is nowhere, or one that nobody wrote. */
  faults: string[];
}

const MARK_BYTES = 16;
/** The program in the served folder begins so much before or after the close of the one on the drive. */
const BEFORE_MS = 20;
const AFTER_MS = 30;
const TIMEOUT_MS = 60_000;
/** Large contents that a failed close left behind are sent again, and show as empty files until they are whole. */
const REST_MS = 300_000;
const SETTLED_MS = 2_100;
const STORE = ".runnel-store";

const [drive = "", served = "", json = "{}"] = process.argv.slice(2);
const settings = JSON.parse(json) as RaceSettings;
const { trials, parallel, sizesBytes } = settings;

let state = settings.seed;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

/** Paths that files had, by name in the trash. */
const trashed = new Map<string, string>();

async function inTrash(name: string): Promise<string[]> {
  const folder = join(served, STORE, "trash");
  for (const each of existsSync(folder) ? readdirSync(folder) : []) {
    if (!each.endsWith(".json") || trashed.has(each)) continue;
    try {
      const { path } = JSON.parse(await readFile(join(folder, each), "utf8")) as { path: string };
      trashed.set(each, path);
    } catch {
      // Being written, or gone again.
    }
  }
  return [...trashed].flatMap(([each, path]) => (path === name ? [join(folder, each.slice(0, -".json".length))] : []));
}

interface Trial {
  name: string;
  /** The drive has read it before. */
  isCached: boolean;
  /** The program in the served folder appends. */
  appends: boolean;
  base: Buffer;
  saved: { at: number; mark: Buffer };
  outside: { at: number; mark: Buffer };
  isAcknowledged: boolean;
}

/** Finds where each mark lies, and what is neither the base nor a mark. */
async function find({ name, base, saved, outside }: Trial): Promise<{ has: Set<string>; wrong: string[] }> {
  const beside = readdirSync(served).filter((each) => each.startsWith(`${name} (`));
  const has = new Set<string>();
  const wrong: string[] = [];
  for (const path of [...[name, ...beside].map((each) => join(served, each)), ...(await inTrash(name))]) {
    const bytes = await readFile(path).catch(() => undefined);
    if (bytes === undefined) continue;
    const rest = Buffer.from(bytes.subarray(0, base.length));
    const tail = bytes.subarray(base.length);
    const tails: Buffer[] = [];
    for (const [who, { at, mark }] of Object.entries({ saved, outside })) {
      if (at < base.length) {
        if (rest.subarray(at, at + MARK_BYTES).equals(mark)) {
          has.add(who);
          base.copy(rest, at, at, at + MARK_BYTES);
        }
      } else if (tail.includes(mark)) {
        has.add(who);
        tails.push(mark);
      }
    }
    const isTail = tail.length === tails.length * MARK_BYTES;
    if (!rest.equals(base) || !isTail) wrong.push(`${path} (${bytes.length} bytes)`);
  }
  return { has, wrong };
}

async function expectBoth(trial: Trial, timeoutMs: number): Promise<string | undefined> {
  const until = Date.now() + timeoutMs;
  let last = "";
  while (Date.now() < until) {
    const beganMs = Date.now();
    const { has, wrong } = await find(trial);
    const missing = [...(trial.isAcknowledged ? ["saved"] : []), "outside"].filter((who) => !has.has(who));
    if (missing.length === 0 && wrong.length === 0) return undefined;
    last = `${trial.name}: ${missing.length > 0 ? `${missing.join(" and ")} nowhere` : ""} ${wrong.join(", ")}`;
    // Rests as long: to look is work too.
    await sleep(Math.max(20, Date.now() - beganMs));
  }
  return last;
}

async function race(trial: Trial): Promise<void> {
  const { name, appends, saved, outside } = trial;
  const file = await open(join(drive, name), "r+");
  await file.write(saved.mark, 0, MARK_BYTES, saved.at);
  const delayMs = random(BEFORE_MS + AFTER_MS) - BEFORE_MS;
  const writing = (async () => {
    await sleep(Math.max(0, delayMs));
    const other = await open(join(served, name), appends ? "a" : "r+");
    await other.write(outside.mark, 0, MARK_BYTES, appends ? null : outside.at);
    await other.close();
  })();
  await sleep(Math.max(0, -delayMs));
  trial.isAcknowledged = await file.close().then(
    () => true,
    () => false,
  );
  await writing;
}

async function main(): Promise<RaceReport> {
  const report: RaceReport = { acknowledged: 0, ofCached: 0, refused: 0, faults: [] };
  const all: Trial[] = [];
  for (let number = 0; number < trials; number++) {
    const sizeBytes = sizesBytes[number % sizesBytes.length] ?? 0;
    const base = randomBytes(sizeBytes);
    const appends = number % 3 === 0;
    const half = Math.floor(sizeBytes / 2) - MARK_BYTES;
    all.push({
      name: `f${number}`,
      isCached: number % 4 > 0,
      appends,
      base,
      saved: { at: number % 6 === 0 ? sizeBytes : random(half), mark: randomBytes(MARK_BYTES) },
      outside: { at: appends ? sizeBytes : half + MARK_BYTES + random(half), mark: randomBytes(MARK_BYTES) },
      isAcknowledged: false,
    });
    await writeFile(join(served, `f${number}`), base);
  }
  await sleep(SETTLED_MS);
  for (const { name, isCached, base } of all) {
    const until = Date.now() + TIMEOUT_MS;
    while (Date.now() < until && (await stat(join(drive, name)).catch(() => undefined))?.size !== base.length)
      await sleep(20);
    if (isCached) await readFile(join(drive, name));
  }
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let trial = all[next++]; trial !== undefined; trial = all[next++]) {
      await race(trial);
      if (trial.isAcknowledged) {
        report.acknowledged++;
        if (trial.isCached) report.ofCached++;
      } else report.refused++;
      const fault = await expectBoth(trial, TIMEOUT_MS);
      if (fault !== undefined) report.faults.push(fault);
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  // Again when all has come to rest.
  for (const trial of all) {
    const fault = await expectBoth(trial, REST_MS);
    if (fault !== undefined) report.faults.push(`at rest ${fault}`);
  }
  return report;
}

process.stdout.write(JSON.stringify(await main()));
