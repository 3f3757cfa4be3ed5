// The activity log: what happened lately, for a person. What is alike and near in time is one entry ("87 files in
// Photos"), so that a hundred thousand saves are a few. In memory, bounded in entries and in bytes; history.ts keeps a
// copy of it on the disk.
import type { Clock } from "@runnel/shared";
import type { DrivePlace } from "./ledger.ts";
import { topFolder } from "./meter.ts";
import type { Happening, HappeningKind } from "./mount-watch.ts";
import { clip } from "./view-state.ts";

export interface ActivityEntry {
  /** Names it as long as it is kept. */
  id: number;
  /** Place in the order of last changes: greater is later. */
  turn: number;
  /** Wall clock: when it began, and was added to last. */
  fromMs: number;
  toMs: number;
  url: string;
  mountpoint: string;
  kind: HappeningKind;
  /** Folder that all of it happened in; "": the drive. */
  folder: string;
  /** Name of the file that came last; "" where it is about the drive. */
  name: string;
  /** Files, or times. A file that comes again right after itself counts once. */
  count: number;
  bytes: number;
  /** A sentence where there is more to say; else "". */
  detail: string;
}

export interface ActivityBounds {
  entriesMax: number;
  /** Characters of names and sentences in all. */
  charactersMax: number;
}

const BOUNDS: ActivityBounds = { entriesMax: 2_000, charactersMax: 512 * 1024 };
/** Something that comes within this time of the last of its kind belongs to the same entry, up to the longest time. */
const GROUP_MS = 5 * 60_000;
const GROUP_MS_MAX = 60 * 60_000;
const SWEEP_MS = 1_000;
/** Entries of one kind and drive that are added to at once: by folder, then by folder at the top, then by drive. */
const FOLDERS_MAX = 32;
const TOP_FOLDERS_MAX = 64;
const FOLDER_CHARACTERS_MAX = 1_024;
const NAME_CHARACTERS_MAX = 256;
const DETAIL_CHARACTERS_MAX = 500;

/** An entry that is still added to. */
interface OpenGroup {
  entry: ActivityEntry;
  /** Kind and drive. */
  family: string;
  beganMs: number;
  lastMs: number;
}

export class ActivityLog {
  readonly #clock: Clock;
  readonly #bounds: ActivityBounds;
  /** Entries by id; what was changed last comes last. */
  readonly #entries = new Map<number, ActivityEntry>();
  readonly #open = new Map<string, OpenGroup>();
  readonly #changed = new Set<number>();
  readonly #dropped = new Set<number>();
  /** Entries that are added to, by kind and drive. */
  readonly #openCounts = new Map<string, number>();
  #sweptMs = -Infinity;
  #characters = 0;
  #lastId = 0;
  #lastTurn = 0;

  constructor(clock: Clock, bounds: ActivityBounds = BOUNDS) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /** Takes what a former process kept, in the order of turns. Called before anything is added. */
  load(entries: Iterable<ActivityEntry>): void {
    for (const entry of entries) {
      this.#lastId = Math.max(this.#lastId, entry.id);
      this.#lastTurn = Math.max(this.#lastTurn, entry.turn);
      this.#put(entry);
    }
    this.#bound();
  }

  add(place: DrivePlace, { kind, path, files, bytes, detail }: Happening): void {
    const nowMs = this.#clock.bootMs();
    const wallMs = Number(this.#clock.wallNs() / 1_000_000n);
    const group = this.#groupOf(place, kind, path, detail, nowMs);
    const before = group.entry;
    this.#take(before.id);
    const name = clip(path.slice(path.lastIndexOf("/") + 1), NAME_CHARACTERS_MAX);
    // A file that is saved again and again is one.
    const isSame = path !== "" && before.count > 0 && before.name === name;
    const entry = {
      ...before,
      turn: ++this.#lastTurn,
      // The wall clock may have been set back.
      fromMs: Math.min(before.fromMs, wallMs),
      toMs: wallMs,
      name,
      count: before.count + (isSame ? 0 : Math.max(1, files)),
      bytes: before.bytes + bytes,
      detail: clip(detail, DETAIL_CHARACTERS_MAX),
    };
    group.entry = entry;
    group.lastMs = nowMs;
    this.#changed.add(entry.id);
    this.#put(entry);
    this.#bound();
  }

  /** Entries, those that changed last first; only those that changed before the turn. */
  list(limit: number, beforeTurn: number = Infinity): ActivityEntry[] {
    const found: ActivityEntry[] = [];
    for (const entry of [...this.#entries.values()].toReversed()) {
      if (entry.turn >= beforeTurn) continue;
      if (found.push(entry) === limit) break;
    }
    return found;
  }

  /** Hands over what has changed since the last call. @returns undefined when nothing has. */
  takeChanges(): { put: ActivityEntry[]; dropped: number[] } | undefined {
    const put = [...this.#changed].flatMap((id) => this.#entries.get(id) ?? []);
    const dropped = [...this.#dropped];
    this.#changed.clear();
    this.#dropped.clear();
    return put.length + dropped.length === 0 ? undefined : { put, dropped };
  }

  /** The entry that something belongs to: a new one where there is none. */
  #groupOf(place: DrivePlace, kind: HappeningKind, path: string, detail: string, nowMs: number): OpenGroup {
    const family = `${kind}\n${place.url}\n${place.mountpoint}\n`;
    // Each conflict and each problem is one of its own.
    const own = kind === "conflict" ? path : kind === "problem" ? detail : "";
    const parent = path.slice(0, Math.max(0, path.lastIndexOf("/")));
    const folders = [parent, topFolder(path), ""];
    for (const [index, folder] of folders.entries()) {
      const key = index === folders.length - 1 ? `${family}\n` : `${family}${folder}\n${own}`;
      const open = this.#open.get(key);
      if (open !== undefined && isFresh(open, nowMs)) return open;
      this.#forget(key, family);
      const most = [FOLDERS_MAX, TOP_FOLDERS_MAX][index] ?? Infinity;
      if (most === Infinity || this.#countOpen(family, nowMs) < most)
        return this.#begin(key, family, place, kind, folder, nowMs);
    }
    throw new TypeError("A drive has an entry for itself.");
  }

  #begin(
    key: string,
    family: string,
    { url, mountpoint }: DrivePlace,
    kind: HappeningKind,
    folder: string,
    nowMs: number,
  ): OpenGroup {
    const id = ++this.#lastId;
    const named = { url, mountpoint, kind, folder: clip(folder, FOLDER_CHARACTERS_MAX), name: "", detail: "" };
    const entry = { id, turn: 0, fromMs: Infinity, toMs: 0, count: 0, bytes: 0, ...named };
    const group = { entry, family, beganMs: nowMs, lastMs: nowMs };
    this.#open.set(key, group);
    this.#openCounts.set(family, (this.#openCounts.get(family) ?? 0) + 1);
    return group;
  }

  /** Counts the entries of a kind and drive that are added to. */
  #countOpen(family: string, nowMs: number): number {
    if (nowMs - this.#sweptMs >= SWEEP_MS) {
      this.#sweptMs = nowMs;
      for (const [key, group] of this.#open) if (!isFresh(group, nowMs)) this.#forget(key, group.family);
    }
    return this.#openCounts.get(family) ?? 0;
  }

  #forget(key: string, family: string): void {
    if (!this.#open.delete(key)) return;
    const count = (this.#openCounts.get(family) ?? 0) - 1;
    if (count > 0) this.#openCounts.set(family, count);
    else this.#openCounts.delete(family);
  }

  #put(entry: ActivityEntry): void {
    this.#entries.set(entry.id, entry);
    this.#characters += charactersOf(entry);
  }

  #take(id: number): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    this.#entries.delete(id);
    this.#characters -= charactersOf(entry);
  }

  #bound(): void {
    const { entriesMax, charactersMax } = this.#bounds;
    for (const [id] of this.#entries) {
      if (this.#entries.size <= entriesMax && this.#characters <= charactersMax) return;
      this.#take(id);
      this.#changed.delete(id);
      this.#dropped.add(id);
    }
  }
}

function isFresh({ beganMs, lastMs }: OpenGroup, nowMs: number): boolean {
  return nowMs - lastMs <= GROUP_MS && nowMs - beganMs <= GROUP_MS_MAX;
}

function charactersOf({ folder, name, detail }: ActivityEntry): number {
  return folder.length + name.length + detail.length;
}
