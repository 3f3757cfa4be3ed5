// The part that both engines share: the face of drive.node's one class. Packs entries, so that a listing crosses in
// three values, and checks what the native side trusts.
import { RunnelError, type ErrorKind, type FileType, type Xattr } from "@runnel/shared/model";
import type {
  ByteRange,
  DriveBinding,
  DriveContent,
  DriveEntry,
  DriveNotice,
  DriveRequest,
  DriveSettings,
  DriveStatistics,
  Early,
} from "./drive.ts";
import { loadAddon } from "../load.ts";

/** Items that stay in here. */
type InternalItem =
  | { op: "ready" }
  | { op: "ended"; isDone: boolean; problem: string }
  | { op: "committed"; ticket: number; kind: ErrorKind | "" };

/** Items of the native queue: requests and notices in order, and what stays in here. */
export type NativeItem = DriveRequest | DriveNotice | InternalItem;

/**
 * An order to a kernel to forget, before `untilMs`, a name of a folder, or (folder 0) the attributes of an id. Ids are
 * the kernel's.
 */
export interface Invalidation {
  folder: number;
  name: string;
  id: number;
  untilMs: number;
}

/** The class NativeDrive of native/src/bridge/drive/object.h. */
export interface NativeDrive {
  start(onItems: (items: NativeItem[]) => void): string | undefined;
  close(force: boolean): void;
  putEntries(numbers: Float64Array, times: BigInt64Array, strings: string, count: number, changed: boolean): void;
  putFolder(folder: number, numbers: Float64Array, times: BigInt64Array, strings: string, count: number): void;
  putNode(numbers: Float64Array, times: BigInt64Array, strings: string, changed: boolean): void;
  dropFolder(folder: number): void;
  setLease(untilBootMs: number): void;
  openEarlyLog(path: string, boot: string, next: number): boolean;
  giveNodes(first: number, count: number): void;
  allowEarly(isAllowed: boolean): void;
  tookIn(id: number): boolean;
  barrier(ticket: number): void;
  putContent(id: number, node: number, version: number, path: string, sizeBytes: number, present: Float64Array): string;
  putRanges(content: number, present: Float64Array): boolean;
  dropContent(content: number): boolean;
  dropContentBut(content: number, file: number): boolean;
  replaceContent(content: number, by: number): boolean;
  settle(id: number, kind: ErrorKind | "", node: number, content: number, version: number): void;
  settleStatfs(id: number, total: number, free: number, available: number, files: number, freeFiles: number): void;
  settleXattrs(id: number, flat: (string | Uint8Array)[]): void;
  prolong(id: number): void;
  setDeadlineMin(delayMs: number): void;
  heartbeat(lateMs: number): void;
  rebase(file: number, content: number): boolean;
  joinLayers(file: number, overlays: readonly string[], path: string): boolean;
  saved(file: number, commit: number, version: number, isElsewhere: boolean): boolean;
  commitDirty(ticket: number): void;
  statistics(): DriveStatistics;
  // Memory only.
  setTime(bootMs: number, wallNs: bigint, kernelMs: number): void;
  takeWake(): boolean;
  drain(): NativeItem[];
  wakeTime(): number;
  expire(): void;
  runTasks(): void;
  interrupt(ticket: number): void;
  takeInvalidations(): (Invalidation & { mark: number })[] | undefined;
  invalidated(id: number, mark: number): void;
  call(ticket: number, op: string, args: object): void;
  end(): void;
}

interface DriveAddon {
  NativeDrive: new (kind: "kernel" | "memory", settings: object) => NativeDrive;
  leftEarly(path: string, boot: string): LeftEarly;
}

/** Changes that a killed process answered and the agent did not record, in order, and the highest number given. */
export interface LeftEarly {
  requests: (DriveRequest & Early)[];
  last: number;
}

/** Reads the file of openEarlyLog. What was written to it in another boot of the system does not count. */
export function leftEarly(path: string, boot: string): LeftEarly {
  return loadDriveAddon("memory").leftEarly(path, boot);
}

export const FILE_TYPES: readonly FileType[] = ["file", "folder", "symlink", "fifo", "socket", "block", "char"];
const TYPE_INDEX = new Map(FILE_TYPES.map((type, index) => [type, index]));

const NUMBERS = 11;
const TIMES = 2;

interface Packed {
  numbers: Float64Array;
  times: BigInt64Array;
  strings: string;
}

interface Row {
  folder: number;
  name: string;
  entry: DriveEntry | undefined;
}

function pack(rows: readonly Row[]): Packed {
  const numbers = new Float64Array(rows.length * NUMBERS);
  const times = new BigInt64Array(rows.length * TIMES);
  const strings: string[] = [];
  let at = 0;
  let time = 0;
  for (const { folder, name, entry } of rows) {
    numbers[at] = folder;
    if (entry !== undefined) {
      numbers[at + 1] = entry.node;
      numbers[at + 2] = TYPE_INDEX.get(entry.type) ?? 0;
      numbers[at + 3] = entry.mode;
      numbers[at + 4] = entry.uid;
      numbers[at + 5] = entry.gid;
      numbers[at + 6] = entry.sizeBytes;
      numbers[at + 7] = entry.nlink;
      numbers[at + 8] = entry.rdev;
      numbers[at + 9] = entry.version;
      numbers[at + 10] = entry.xattrs ?? 0;
      times[time] = entry.mtimeNs;
      times[time + 1] = entry.ctimeNs;
    }
    strings.push(name, entry?.target ?? "");
    at += NUMBERS;
    time += TIMES;
  }
  return { numbers, times, strings: strings.length === 0 ? "" : `${strings.join("\0")}\0` };
}

function pairs(ranges: readonly ByteRange[]): Float64Array {
  const packed = new Float64Array(ranges.length * 2);
  ranges.forEach((range, index) => {
    packed[2 * index] = range.offset;
    packed[2 * index + 1] = range.length;
  });
  return packed;
}

/** A drive without a kernel does without libfuse, too: where that is missing drive.node does not load. */
function loadDriveAddon(kind: "kernel" | "memory"): DriveAddon {
  try {
    return loadAddon("drive") as DriveAddon;
  } catch (error) {
    if (kind === "kernel") throw error;
    try {
      return loadAddon("loopback") as DriveAddon;
    } catch {
      throw error;
    }
  }
}

/** @throws RunnelError Unsupported where the addon, or a kernel's drive, is not there. */
export function newNativeDrive(kind: "kernel" | "memory", settings: DriveSettings, more: object = {}): NativeDrive {
  try {
    const addon = loadDriveAddon(kind);
    return new addon.NativeDrive(kind, { ...settings, rootNode: settings.rootNode ?? 1, ...more });
  } catch (error) {
    throw new RunnelError("Unsupported", "mount", (error as Error).message, { cause: error });
  }
}

/** Splits a batch at its notices, so that their order against the requests is kept. */
export function dispatch(
  items: readonly NativeItem[],
  on: {
    requests(batch: DriveRequest[]): void;
    notice(notice: DriveNotice): void;
    internal(item: InternalItem): void;
  },
): void {
  let requests: DriveRequest[] = [];
  const flush = (): void => {
    const batch = requests;
    requests = [];
    if (batch.length > 0) on.requests(batch);
  };
  for (const item of items) {
    if (item.op === "interrupted" || item.op === "closed" || item.op === "unmounted") {
      flush();
      on.notice(item);
    } else if (item.op === "ready" || item.op === "ended" || item.op === "committed") {
      flush();
      on.internal(item);
    } else {
      requests.push(item);
    }
  }
  flush();
}

/** The agent's half of Drive, alike for all engines. `after` runs when something was said to the native side. */
export class AgentSide {
  readonly native: NativeDrive;
  readonly #before: () => void;
  readonly #after: () => void;
  /** Callers that wait for all commits, by ticket; undefined once nobody answers any more. */
  #committing: Map<number, (failure: ErrorKind | undefined) => void> | undefined = new Map();
  #nextTicket = 1;

  constructor(native: NativeDrive, before: () => void = () => {}, after: () => void = () => {}) {
    this.native = native;
    this.#before = before;
    this.#after = after;
  }

  #run<T>(what: () => T): T {
    this.#before();
    try {
      return what();
    } finally {
      this.#after();
    }
  }

  putEntries(bindings: readonly DriveBinding[], changed: boolean): void {
    const { numbers, times, strings } = pack(bindings);
    this.#run(() => this.native.putEntries(numbers, times, strings, bindings.length, changed));
  }

  putFolder(folder: number, listing: readonly { name: string; entry: DriveEntry }[]): void {
    const { numbers, times, strings } = pack(listing.map(({ name, entry }) => ({ folder, name, entry })));
    this.#run(() => this.native.putFolder(folder, numbers, times, strings, listing.length));
  }

  putNode(entry: DriveEntry, changed: boolean): void {
    const { numbers, times, strings } = pack([{ folder: 0, name: "", entry }]);
    this.#run(() => this.native.putNode(numbers, times, strings, changed));
  }

  dropFolder(folder: number): void {
    this.#run(() => this.native.dropFolder(folder));
  }

  setLease(untilBootMs: number): void {
    this.#run(() => this.native.setLease(untilBootMs));
  }

  openEarlyLog(path: string, boot: string, next: number): boolean {
    return this.#run(() => this.native.openEarlyLog(path, boot, next));
  }

  giveNodes(first: number, count: number): void {
    this.#run(() => this.native.giveNodes(first, count));
  }

  allowEarly(isAllowed: boolean): void {
    this.#run(() => this.native.allowEarly(isAllowed));
  }

  tookIn(id: number): boolean {
    return this.#run(() => this.native.tookIn(id));
  }

  async given(): Promise<void> {
    await this.#ticket((ticket) => this.native.barrier(ticket));
  }

  putContent(content: DriveContent): void {
    const { id, node, version, path, sizeBytes, present } = content;
    const kind = this.#run(() => this.native.putContent(id, node, version, path, sizeBytes, pairs(present)));
    if (kind !== "") throw new RunnelError("Io", "put content", `A cached file could not be opened (${kind}).`);
  }

  putRanges(content: number, present: readonly ByteRange[]): void {
    this.#run(() => this.native.putRanges(content, pairs(present)));
  }

  dropContent(content: number): boolean {
    return this.#run(() => this.native.dropContent(content));
  }

  dropContentBut(content: number, file: number): boolean {
    return this.#run(() => this.native.dropContentBut(content, file));
  }

  done(id: number): void {
    this.#settle(id);
  }

  fail(id: number, kind: ErrorKind): void {
    this.#settle(id, kind);
  }

  opened(id: number, answer: { content: number; version: number }): void {
    this.#settle(id, "", 0, answer.content, answer.version);
  }

  created(id: number, answer: { node: number; version: number }): void {
    this.#settle(id, "", answer.node, 0, answer.version);
  }

  committed(id: number, answer: { version: number }): void {
    this.#settle(id, "", 0, 0, answer.version);
  }

  #settle(id: number, kind: ErrorKind | "" = "", node = 0, content = 0, version = 0): void {
    this.#run(() => this.native.settle(id, kind, node, content, version));
  }

  commitDirty(): Promise<ErrorKind | undefined> {
    return this.#ticket((ticket) => this.native.commitDirty(ticket));
  }

  #ticket(ask: (ticket: number) => void): Promise<ErrorKind | undefined> {
    const committing = this.#committing;
    if (committing === undefined) return Promise.resolve("Io");
    const ticket = this.#nextTicket++;
    return new Promise((resolve) => {
      committing.set(ticket, resolve);
      this.#run(() => ask(ticket));
    });
  }

  /** Settles a ticket: the native side has reported that all its commits have been answered. */
  committedAll(ticket: number, kind: ErrorKind | ""): void {
    this.#committing?.get(ticket)?.(kind === "" ? undefined : kind);
    this.#committing?.delete(ticket);
  }

  /** Fails those that wait: the native side reports nothing from here on. */
  endCommits(): void {
    for (const resolve of this.#committing?.values() ?? []) resolve("Io");
    this.#committing = undefined;
  }

  prolong(id: number): void {
    this.#run(() => this.native.prolong(id));
  }

  setDeadlineMin(delayMs: number): void {
    this.native.setDeadlineMin(Math.ceil(delayMs));
  }

  heartbeat(lateMs: number): void {
    this.native.heartbeat(Math.floor(lateMs));
  }

  replaceContent(content: number, by: number): boolean {
    return this.#run(() => this.native.replaceContent(content, by));
  }

  rebase(file: number, content: number): boolean {
    return this.#run(() => this.native.rebase(file, content));
  }

  joinLayers(file: number, overlays: readonly string[], path: string): boolean {
    return this.#run(() => this.native.joinLayers(file, overlays, path));
  }

  saved(file: number, commit: number, version: number, isElsewhere: boolean): boolean {
    return this.#run(() => this.native.saved(file, commit, version, isElsewhere));
  }

  statfs(
    id: number,
    answer: { totalBytes: number; freeBytes: number; availableBytes: number; totalFiles: number; freeFiles: number },
  ): void {
    const { totalBytes, freeBytes, availableBytes, totalFiles, freeFiles } = answer;
    this.#run(() => this.native.settleStatfs(id, totalBytes, freeBytes, availableBytes, totalFiles, freeFiles));
  }

  xattrs(id: number, xattrs: readonly Xattr[]): void {
    this.#run(() => this.native.settleXattrs(id, xattrs.flat()));
  }

  statistics(): DriveStatistics {
    return this.native.statistics();
  }
}
