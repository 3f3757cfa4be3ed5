// The kernel between programs and the memory drive: what Linux's FUSE client keeps of names, attributes and pages, for
// as long as the drive allows, and how it is made to forget (Linux 6.1, fs/fuse and fs/namei.c). A request of a program
// that it can answer never reaches the drive.
import { constants } from "node:fs";
import type { Invalidation, MemoryDrive, ProgramStat, RequestResult } from "@runnel/native/drive";
import { Program } from "@runnel/native/drive";
import type { SeededRandom } from "@runnel/shared";
import { sleep } from "@runnel/shared";
import type { Process } from "../../simulation/machine.ts";
import { FolderLock } from "../folder-lock.ts";
import { KernelInode, PAGE_BYTES } from "./kernel-inode.ts";

const ENOENT = 2;
const EIO = 5;
const ENOSPC = 28;
const ESTALE = 116;
const ROOT_ID = 1;
const AHEAD_PAGES_MAX = 8;
/** The thread that forgets names gets its turn so late, at times. */
const FORGETS_LATE_MS = 300;
/** CONFIG_HZ=250. */
const TICK_MS = 4;

interface Dentry {
  id: number;
  untilMs: number;
}

/** The fields of a request that a kernel looks at. */
interface Asked {
  id: number;
  folder: number;
  name: string;
  toFolder: number;
  toName: string;
  how: number;
  handle: object;
  flags: number;
  offset: number;
  length: number;
  data: Uint8Array;
  sizeBytes?: number;
  lookups: number;
  revalidates: boolean;
}

export interface Answered {
  names: number;
  attributes: number;
  pages: number;
}

export class Kernel {
  private readonly drive: MemoryDrive;
  private readonly process: Process;
  private readonly random: SeededRandom;
  private readonly isFull: () => boolean;
  private readonly inodes = new Map<number, KernelInode>();
  private readonly dentries = new Map<number, Map<string, Dentry>>();
  private readonly locks = new Map<number, FolderLock>();
  private readonly inLookup = new Map<string, Promise<unknown>>();
  private readonly openFolders = new WeakMap<object, number>();
  private readonly toForget: { what: Invalidation; forgotten: () => void }[] = [];
  private isForgetting = false;
  private programs = 0;
  private order = 1;
  /** Counts of what programs asked for and the drive was not. */
  readonly answered: Answered = { names: 0, attributes: 0, pages: 0 };

  /** `isFull`: the disk on which the drive keeps what is written to it has no room now. */
  constructor(drive: MemoryDrive, process: Process, random: SeededRandom, isFull = (): boolean => false) {
    this.isFull = isFull;
    this.drive = drive;
    this.process = process;
    this.random = random;
    drive.onInvalidation((what, forgotten) => {
      this.toForget.push({ what, forgotten });
      if (!this.isForgetting) void this.forgetAll();
    });
  }

  /** Makes a program with one thread. */
  program(): Program {
    const caller = { uid: 0, gid: 0, pid: ++this.programs };
    return new Program((op, args, signal) => this.request(op, args as Asked, signal), caller);
  }

  /** Memory is short: names and pages that nobody uses now go. */
  shrink(): void {
    for (const [folder, names] of this.dentries)
      for (const name of names.keys()) if (this.random.coin()) this.dropName(folder, name);
    for (const inode of this.inodes.values()) if (this.random.coin()) inode.dropPages();
  }

  private nowMs(): number {
    return this.process.machine.awakeMs();
  }

  /** It counts in ticks, and rounds up. */
  private until(timeoutMs: number): number {
    return timeoutMs === 0 ? -Infinity : Math.ceil((this.nowMs() + timeoutMs) / TICK_MS + 1) * TICK_MS;
  }

  private request(op: string, args: Asked, signal: AbortSignal | undefined): Promise<RequestResult> {
    const pass = (): Promise<RequestResult> => this.drive.request(op, args, signal);
    switch (op) {
      case "lookup":
        return this.lookup(args, pass);
      case "forget":
        return this.forget(args.id);
      case "getattr":
        return this.attributes(args.id, pass);
      case "setattr":
        return this.setAttributes(args, pass);
      case "open":
        return this.open(args, pass);
      case "create":
      case "make":
      case "link":
        return this.alone([args.folder], () => this.make(op, args, pass));
      case "remove":
        return this.alone([args.folder], () => this.remove(args, pass));
      case "rename":
        return this.alone([args.folder, args.toFolder], () => this.rename(args, pass));
      case "read":
        return this.read(args);
      case "write":
        return this.write(args, pass);
      case "release":
        return this.release(args, pass);
      case "opendir":
        return this.openFolder(args, pass);
      case "readdir":
        return this.readFolder(args);
      default:
        return pass();
    }
  }

  // ── names ──

  private async lookup(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const { folder, name } = args;
    const dentry = this.dentries.get(folder)?.get(name);
    if (dentry !== undefined) {
      if (!args.revalidates && this.nowMs() <= dentry.untilMs) {
        this.answered.names += 1;
        return this.found(dentry.id);
      }
      if (await this.isStillSo(args, dentry, pass)) return this.found(dentry.id);
    }
    return this.lookupAnew(args, pass);
  }

  private async isStillSo(args: Asked, dentry: Dentry, pass: () => Promise<RequestResult>): Promise<boolean> {
    const sent = this.order;
    const { error, stat } = await pass();
    if (error === 0 && stat !== undefined) {
      if (stat.id === dentry.id) {
        const inode = this.learn(stat, sent);
        inode.lookups += 1;
        dentry.untilMs = this.until(stat.entryTimeoutMs);
        // It may have lost its name meanwhile, but this program has it.
        return true;
      }
      await this.drive.request("forget", { ...args, id: stat.id, lookups: 1 });
    }
    if (this.dentries.get(args.folder)?.get(args.name) === dentry) this.dropName(args.folder, args.name);
    return false;
  }

  /** Looks a name up, but never twice at a time. */
  private async lookupAnew(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const key = `${args.folder}/${args.name}`;
    const other = this.inLookup.get(key);
    if (other !== undefined) {
      await other.catch(() => undefined);
      return this.lookup(args, pass);
    }
    const work = this.lock(args.folder).with(false, async () => {
      const sent = this.order;
      const result = await pass();
      return result.error === 0 && result.stat !== undefined ? this.bind(args.folder, args.name, result, sent) : result;
    });
    this.inLookup.set(key, work);
    try {
      return await work;
    } finally {
      this.inLookup.delete(key);
    }
  }

  private found(id: number): RequestResult {
    const inode = this.inodes.get(id);
    if (inode === undefined) return failed(ENOENT);
    inode.held += 1;
    return { error: 0, written: 0, keepsCache: false, stat: inode.stat };
  }

  /** An answer that names an id: the caller holds it. */
  private bind(folder: number, name: string, result: RequestResult, sent: number, isHeld = true): RequestResult {
    const { stat } = result;
    if (stat === undefined) return result;
    const inode = this.learn(stat, sent);
    inode.lookups += 1;
    if (isHeld) inode.held += 1;
    inode.names += 1;
    this.dropName(folder, name);
    const names = this.dentries.get(folder) ?? new Map<string, Dentry>();
    this.dentries.set(folder, names);
    names.set(name, { id: stat.id, untilMs: this.until(stat.entryTimeoutMs) });
    return { ...result, stat: inode.stat };
  }

  private async make(op: string, args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    if (op !== "create" && (await this.isSentBack(args))) return failed(EIO);
    const sent = this.order;
    const result = await pass();
    if (result.error !== 0) return result;
    const made = this.bind(args.folder, args.name, result, sent);
    if (op === "create" && made.stat !== undefined) this.opened(made.stat.id, args.flags, false);
    return made;
  }

  /** mkdir and its like look their name up first, and end when that is answered ESTALE (filename_create). */
  private async isSentBack(args: Asked): Promise<boolean> {
    const { error, stat } = await this.drive.request("lookup", args);
    if (stat !== undefined) await this.drive.request("forget", { ...args, id: stat.id, lookups: 1 });
    return error === ESTALE;
  }

  private async remove(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const result = await pass();
    if (result.error === 0 || result.error === ENOENT) this.dropName(args.folder, args.name);
    return result;
  }

  private async rename(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const { folder, name, toFolder, toName, how } = args;
    const result = await pass();
    const [from, to] = [this.dentries.get(folder)?.get(name), this.dentries.get(toFolder)?.get(toName)];
    if (result.error === 0) {
      this.move(from, toFolder, toName);
      this.move(how === 2 ? to : undefined, folder, name);
    } else if (result.error === ENOENT) {
      this.dropName(folder, name);
      this.dropName(toFolder, toName);
    }
    return result;
  }

  /** A name keeps its time. */
  private move(dentry: Dentry | undefined, folder: number, name: string): void {
    const inode = dentry === undefined ? undefined : this.inodes.get(dentry.id);
    if (inode !== undefined) inode.names += 1;
    this.dropName(folder, name);
    if (dentry === undefined || inode === undefined) return;
    const names = this.dentries.get(folder) ?? new Map<string, Dentry>();
    this.dentries.set(folder, names);
    names.set(name, { ...dentry });
  }

  private dropName(folder: number, name: string): void {
    const names = this.dentries.get(folder);
    const dentry = names?.get(name);
    if (dentry === undefined) return;
    names?.delete(name);
    const inode = this.inodes.get(dentry.id);
    if (inode === undefined) return;
    inode.names -= 1;
    this.evict(inode);
  }

  private lock(folder: number): FolderLock {
    const lock = this.locks.get(folder) ?? new FolderLock();
    this.locks.set(folder, lock);
    return lock;
  }

  /** With the names of these folders for itself. */
  private alone<T>(folders: readonly number[], work: () => Promise<T>): Promise<T> {
    const inOrder = [...new Set(folders)].toSorted((a, b) => a - b);
    const [first, second] = inOrder.map((folder) => this.lock(folder));
    return first === undefined
      ? work()
      : first.with(true, () => (second === undefined ? work() : second.with(true, work)));
  }

  // ── attributes ──

  private learn(stat: ProgramStat, sent: number): KernelInode {
    const known = this.inodes.get(stat.id);
    const inode = known ?? new KernelInode(stat.id, stat);
    this.inodes.set(stat.id, inode);
    // Asked for before it was changed by something else: says nothing.
    if (inode.order <= sent) inode.tell(stat, this.until(stat.attributeTimeoutMs), ++this.order);
    return inode;
  }

  private async attributes(id: number, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const inode = this.inodes.get(id);
    if (inode !== undefined && this.nowMs() <= inode.attributesUntilMs) {
      this.answered.attributes += 1;
      return { error: 0, written: 0, keepsCache: false, stat: inode.stat };
    }
    const sent = this.order;
    const result = await pass();
    if (result.error !== 0 || result.stat === undefined) return result;
    return { ...result, stat: this.learn({ ...result.stat, id }, sent).stat };
  }

  private async setAttributes(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const result = await pass();
    const inode = this.inodes.get(args.id);
    if (result.error !== 0 || result.stat === undefined || inode === undefined) return result;
    if (inode.sizeBytes !== result.stat.sizeBytes) inode.dropPages();
    inode.tell({ ...result.stat, id: args.id }, this.until(result.stat.attributeTimeoutMs), ++this.order);
    return { ...result, stat: inode.stat };
  }

  // ── files ──

  private async open(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const result = await pass();
    if (result.error === 0) this.opened(args.id, args.flags, result.keepsCache);
    return result;
  }

  private opened(id: number, flags: number, keepsCache: boolean): void {
    const inode = this.inodes.get(id);
    if (inode === undefined) return;
    inode.opens += 1;
    if (!keepsCache || (flags & constants.O_TRUNC) !== 0) inode.dropPages();
    if ((flags & constants.O_TRUNC) === 0) return;
    inode.sizeBytes = 0;
    inode.doubt(++this.order);
  }

  private async read(args: Asked): Promise<RequestResult> {
    const { id, offset, length } = args;
    const inode = this.inodes.get(id);
    if (inode === undefined) return failed(ENOENT);
    if (offset + length > inode.sizeBytes) {
      const { error } = await this.attributes(id, () => this.drive.request("getattr", args));
      if (error !== 0) return failed(error);
    }
    const from = Math.floor(offset / PAGE_BYTES);
    for (let isAll = true; ; isAll = false) {
      const to = Math.ceil(Math.min(offset + length, inode.sizeBytes) / PAGE_BYTES);
      const page = inode.missing(from, to);
      if (page === undefined) {
        if (isAll) this.answered.pages += 1;
        return { error: 0, written: 0, keepsCache: false, data: inode.read(offset, length) };
      }
      const ahead = Math.ceil(inode.sizeBytes / PAGE_BYTES) - to;
      const pages = to + Math.min(ahead, this.random.below(AHEAD_PAGES_MAX)) - page;
      const asked = this.order;
      const what = { ...args, offset: page * PAGE_BYTES, length: pages * PAGE_BYTES };
      const result = await this.drive.request("read", what);
      if (result.error !== 0) return result;
      inode.fill(page, pages, result.data ?? new Uint8Array(), asked, ++this.order);
    }
  }

  /**
   * Fails when the disk is full, as the drive's own code does when it writes what programs write.
   */
  private async write(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    if (this.isFull()) return failed(ENOSPC);
    const result = await pass();
    if (result.error === 0)
      this.inodes.get(args.id)?.write(args.offset, args.data.subarray(0, result.written), ++this.order);
    return result;
  }

  private async release(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const inode = this.inodes.get(args.id);
    if (inode !== undefined) inode.opens -= 1;
    const result = await pass();
    if (inode !== undefined) this.evict(inode);
    return result;
  }

  // ── folders ──

  private async openFolder(args: Asked, pass: () => Promise<RequestResult>): Promise<RequestResult> {
    const result = await pass();
    if (result.handle !== undefined) this.openFolders.set(result.handle, args.id);
    return result;
  }

  /**
   * The first page of a listing comes with attributes and binds names, the others by chance, as they do after lookups
   * there.
   */
  private readFolder(args: Asked): Promise<RequestResult> {
    const folder = this.openFolders.get(args.handle) ?? ROOT_ID;
    return this.lock(folder).with(false, async () => {
      const sent = this.order;
      const plus = args.offset === 0 || this.random.coin();
      const result = await this.drive.request("readdir", { ...args, plus });
      for (const { name, stat } of plus ? (result.names ?? []) : [])
        if (stat.id !== 0) this.bind(folder, name, { ...result, stat }, sent, false);
      return result;
    });
  }

  // ── forgetting ──

  private async forget(id: number): Promise<RequestResult> {
    const inode = this.inodes.get(id);
    if (inode !== undefined) {
      inode.held -= 1;
      this.evict(inode);
    }
    return failed(0);
  }

  private evict(inode: KernelInode): void {
    const { id, lookups } = inode;
    if (!inode.isUnused || id === ROOT_ID || this.inodes.get(id) !== inode) return;
    this.inodes.delete(id);
    for (const name of this.dentries.get(id)?.keys() ?? []) this.dropName(id, name);
    this.dentries.delete(id);
    void this.drive.request("forget", { id, lookups, callerUid: 0, callerGid: 0 });
  }

  /** The drive's own thread for it: one after the other, each for as long as it waits for the folder's lock. */
  private async forgetAll(): Promise<void> {
    this.isForgetting = true;
    for (let next = this.toForget.shift(); next !== undefined; next = this.toForget.shift()) {
      const { what, forgotten } = next;
      await sleep(this.process, this.random.coin(0.2) ? this.random.below(FORGETS_LATE_MS) : this.random.next());
      if (this.nowMs() < what.untilMs) {
        if (what.folder === 0) this.inodes.get(what.id)?.doubt(++this.order);
        else await this.alone([what.folder], async () => this.dropName(what.folder, what.name));
      }
      forgotten();
    }
    this.isForgetting = false;
  }
}

function failed(error: number): RequestResult {
  return { error, written: 0, keepsCache: false };
}
