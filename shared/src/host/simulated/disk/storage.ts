// Storage that the roots and the open files of a simulated disk share: inodes, names, space, time, faults, watches.
// What was not synced survives `crash` or does not, by a seeded coin, within what POSIX allows.
import { type ErrorKind, RunnelError } from "../../../errors.ts";
import { type Clock, sleep } from "../../clock.ts";
import type { FileType, WatchEvent } from "../../disk.ts";
import { SeededRandom } from "../seeded-random.ts";
import { PAGE_BYTES } from "./content.ts";
import { Inode } from "./inode.ts";
import { type NameChange, NameJournal, type Slot } from "./name-journal.ts";

export interface SimulatedStorageOptions {
  clock: Clock;
  seed: number;
  capacityBytes?: number;
}

/** A watch of a tree, with the events not yet told. */
export interface Watcher {
  root: Inode;
  events: WatchEvent[];
  tell: (events: WatchEvent[]) => void;
  /** Names of the root that are not watched. */
  leaveOut: readonly string[];
}

const CAPACITY_BYTES = 2 ** 40;
const FILES_MAX = 2 ** 24;

export class SimulatedStorage {
  readonly clock: Clock;
  readonly random: SeededRandom;
  capacityBytes: number;
  /** Returns how long each operation takes on the clock. */
  delayMs: (operation: string) => number = () => 0;
  /**
   * Makes an operation fail: called with its name (that of the method), its path in the root ("" for the root), and
   * where it leads to (rename, link).
   */
  fault: ((operation: string, path: string, to?: string) => ErrorKind | undefined) | undefined;
  /** True while a file can be kept from being written to. */
  hasLeases = true;
  /** Counts crashes: what was opened in an earlier life is dead. */
  life = 0;
  /** Operations done so far, of any kind. */
  operations = 0;
  readonly watchers = new Set<Watcher>();
  readonly names = new NameJournal();
  readonly root: Inode;
  #usedPages = 0;
  #inodes = 0;
  #generation = 1;
  #inoMax = 1;
  /** Numbers of inodes that are gone, with the last owner: the next file gets the last one, as on ext4. */
  readonly #freeInos: Inode[] = [];
  #stampNs = 0n;
  #stampedAtNs = 0n;

  constructor(options: SimulatedStorageOptions) {
    this.clock = options.clock;
    this.random = new SeededRandom(options.seed);
    this.capacityBytes = options.capacityBytes ?? CAPACITY_BYTES;
    this.root = this.makeInode("folder", 0o755).inode;
    this.root.links = this.root.durableLinks = 1;
  }

  /** Power is cut. What was open is dead; open roots anew. */
  crash(): void {
    this.life += 1;
    this.watchers.clear();
    this.names.crash(this.root, this.random);
    this.#usedPages = 0;
    this.#inodes = 0;
    this.#freeInos.length = 0;
    const seen = new Set<Inode>();
    const visit = (inode: Inode): void => {
      if (seen.has(inode)) return;
      seen.add(inode);
      inode.links = inode.durableLinks;
      inode.openings = 0;
      if (this.random.coin()) inode.attributes = { ...inode.durableAttributes };
      inode.content?.crash(this.random);
      this.#inodes += 1;
      this.#usedPages += inode.content?.pageCount ?? 0;
      inode.entries?.clear();
      for (const [name, entry] of inode.durableEntries ?? []) {
        inode.entries?.set(name, entry);
        if (entry.type === "folder") entry.place = { folder: inode, name };
        visit(entry);
      }
    };
    visit(this.root);
  }

  get freeBytes(): number {
    return Math.max(0, this.capacityBytes - this.#usedPages * PAGE_BYTES);
  }

  get freeFiles(): number {
    return FILES_MAX - this.#inodes;
  }

  /** Takes up to `count` new pages and returns how many there was room for. A negative count gives pages back. */
  takePages(count: number): number {
    const taken = Math.min(count, Math.floor(this.freeBytes / PAGE_BYTES));
    this.#usedPages += taken;
    return taken;
  }

  /** Waits as long as the operation takes, and throws what it is to throw. `life` is that of what it is done with. */
  async turn(operation: string, path: string, life: number, to?: string): Promise<void> {
    this.#assertAlive(operation, life);
    const delayMs = this.delayMs(operation);
    if (delayMs > 0) await sleep(this.clock, delayMs);
    else await Promise.resolve();
    this.#assertAlive(operation, life);
    this.operations += 1;
    const kind = this.fault?.(operation, path, to);
    if (kind !== undefined) throw failure(kind, operation, `the simulated disk fails (${kind})`);
  }

  /** The wall clock, but no two stamps are the same. */
  nowNs(): bigint {
    const wallNs = this.clock.wallNs();
    this.#stampNs = wallNs === this.#stampedAtNs ? this.#stampNs + 1n : wallNs;
    this.#stampedAtNs = wallNs;
    return this.#stampNs;
  }

  makeInode(
    type: FileType,
    permissions: number,
    what: { rdev?: number; target?: string } = {},
  ): { inode: Inode; reuses: Inode | undefined } {
    const reuses = this.#freeInos.pop();
    const id = { ino: reuses?.ino ?? this.#inoMax++, generation: this.#generation++ };
    const inode = new Inode(
      type,
      id,
      { mode: permissions & 0o7777, uid: 0, gid: 0, mtimeNs: this.nowNs(), xattrs: new Map() },
      what,
    );
    this.#inodes += 1;
    return { inode, reuses };
  }

  /** Rebinds names, now for everybody and on disk when it comes to it. */
  bind(slots: Slot[], reuses?: Inode): void {
    const nowNs = this.nowNs();
    this.names.add({ slots, reuses } satisfies NameChange);
    for (const { from } of slots) if (from !== undefined) from.links -= 1;
    for (const { folder, name, from, to } of slots) {
      folder.touch(nowNs);
      if (from !== undefined) from.ctimeNs = nowNs;
      if (to === undefined) folder.entries?.delete(name);
      else {
        folder.entries?.set(name, to);
        to.links += 1;
        to.ctimeNs = nowNs;
        if (to.type === "folder") to.place = { folder, name };
      }
    }
    for (const { folder, name, from, to } of slots) {
      this.report(folder, name, "changed");
      // Everything that moved with a folder is reported too: a watcher may not have known it.
      if (slots.length > 1 && to !== undefined) this.#reportBelow(to);
      if (from !== undefined) this.release(from);
    }
  }

  /** Forgets an inode that has neither a name nor an opening. */
  release(inode: Inode): void {
    if (inode.links > 0 || inode.openings > 0) return;
    inode.place = undefined;
    this.#inodes -= 1;
    this.#usedPages -= inode.content?.pageCount ?? 0;
    this.#freeInos.push(inode);
  }

  /** Tells the watches about a name of a folder; "" is the folder itself. */
  report(folder: Inode, name: string, kind: WatchEvent["kind"]): void {
    for (const watcher of this.watchers) {
      const above = pathBelow(folder, watcher.root);
      if (above === undefined) continue;
      const path = [above, name].filter((part) => part !== "").join("/");
      if (!watcher.leaveOut.includes(path.split("/")[0] ?? "")) this.#tell(watcher, { path, kind });
    }
  }

  /** The watches lose events. */
  overflowWatches(): void {
    for (const watcher of this.watchers) {
      watcher.events.length = 0;
      this.#tell(watcher, { path: "", kind: "overflow" });
    }
  }

  #reportBelow(folder: Inode): void {
    for (const [name, entry] of folder.entries ?? []) {
      this.report(folder, name, "changed");
      this.#reportBelow(entry);
    }
  }

  #tell(watcher: Watcher, event: WatchEvent): void {
    const last = watcher.events.at(-1);
    if (last?.path === event.path && last.kind === event.kind) return;
    watcher.events.push(event);
    if (watcher.events.length > 1) return;
    queueMicrotask(() => {
      const events = watcher.events.splice(0);
      if (events.length > 0 && this.watchers.has(watcher)) watcher.tell(events);
    });
  }

  #assertAlive(operation: string, life: number): void {
    if (life !== this.life) throw failure("Io", operation, "the simulated machine crashed");
  }
}

function failure(kind: ErrorKind, operation: string, message: string): RunnelError {
  return new RunnelError(kind, operation, message);
}

function pathBelow(folder: Inode, root: Inode): string | undefined {
  const parts: string[] = [];
  for (let at: Inode | undefined = folder; at !== root; at = at.place.folder) {
    if (at?.place === undefined) return undefined;
    parts.unshift(at.place.name);
  }
  return parts.join("/");
}
