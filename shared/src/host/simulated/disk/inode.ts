// A simulated inode: attributes, and by type its bytes, names or target. `durable…` is what a power cut would leave.
import type { Clock } from "../../clock.ts";
import type { DiskStat, FileType, SetStat } from "../../disk.ts";
import { Content } from "./content.ts";

/** Linux: /proc/sys/fs/lease-break-time. */
const BREAK_MS = 45_000;

export interface Attributes {
  /** Extended attributes by name. */
  xattrs: ReadonlyMap<string, Uint8Array>;
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
}

/** Leases for reading on an inode, and who waits for their end to write to it. */
export class Leases {
  /** Callbacks by holder; each lets its holder know that somebody waits. */
  readonly #held = new Map<object, () => void>();
  readonly #waiting = new Set<() => void>();

  get isHeld(): boolean {
    return this.#held.size > 0;
  }

  get isWanted(): boolean {
    return this.#waiting.size > 0;
  }

  take(holder: object, wanted: () => void): void {
    this.#held.set(holder, wanted);
  }

  drop(holder: object): void {
    if (this.#held.delete(holder) && !this.isHeld) for (const go of this.#waiting) go();
  }

  /** Resolves when none is held any more, or when the wait has been too long: then they are broken. */
  async gone(clock: Clock): Promise<void> {
    if (!this.isHeld) return;
    const gone = Promise.withResolvers<void>();
    if (!this.isWanted) for (const wanted of this.#held.values()) wanted();
    this.#waiting.add(gone.resolve);
    const timer = clock.after(BREAK_MS, gone.resolve);
    await gone.promise;
    timer.cancel();
    this.#waiting.delete(gone.resolve);
    this.#held.clear();
  }
}

export class Inode {
  readonly type: FileType;
  readonly ino: number;
  /** Never reused, unlike the inode number. */
  readonly generation: number;
  readonly rdev: number;
  readonly target: string;
  dev = 1;
  attributes: Attributes;
  durableAttributes: Attributes;
  ctimeNs: bigint;
  /** Names in the tree, without "." and "..". */
  links = 0;
  durableLinks = 0;
  /** Openings: an inode without a name lives on until they end. */
  openings = 0;
  /** Number of openings that may write. */
  writers = 0;
  readonly leases = new Leases();
  readonly content: Content | undefined;
  /** Entries of a folder; undefined for anything else. */
  readonly entries: Map<string, Inode> | undefined;
  durableEntries: Map<string, Inode> | undefined;
  /** Place where a folder is bound. */
  place: { folder: Inode; name: string } | undefined;
  durableParent: Inode | undefined;

  constructor(
    type: FileType,
    id: { ino: number; generation: number },
    attributes: Attributes,
    what: { rdev?: number; target?: string } = {},
  ) {
    this.type = type;
    this.ino = id.ino;
    this.generation = id.generation;
    this.rdev = what.rdev ?? 0;
    this.target = what.target ?? "";
    this.attributes = attributes;
    this.durableAttributes = { ...attributes };
    this.ctimeNs = attributes.mtimeNs;
    this.content = type === "file" ? new Content() : undefined;
    this.entries = type === "folder" ? new Map() : undefined;
    this.durableEntries = type === "folder" ? new Map() : undefined;
  }

  stat(): DiskStat {
    const { mode, uid, gid, mtimeNs } = this.attributes;
    const { type, ctimeNs, dev, ino, rdev } = this;
    return {
      type,
      mode,
      uid,
      gid,
      sizeBytes: this.#sizeBytes(),
      mtimeNs,
      ctimeNs,
      dev,
      ino,
      nlink: this.#nlink(),
      rdev,
    };
  }

  /** Inode number and generation, 8 bytes each: what name_to_handle_at gives. */
  handle(): Uint8Array {
    const bytes = new Uint8Array(16);
    const view = new DataView(bytes.buffer);
    view.setBigUint64(0, BigInt(this.ino), true);
    view.setBigUint64(8, BigInt(this.generation), true);
    return bytes;
  }

  setAttributes(change: SetStat, nowNs: bigint): void {
    const { mode, uid, gid, mtimeNs } = change;
    if (mode !== undefined) this.attributes.mode = mode & 0o7777;
    if (uid !== undefined) this.attributes.uid = uid;
    if (gid !== undefined) this.attributes.gid = gid;
    if (mtimeNs !== undefined) this.attributes.mtimeNs = mtimeNs;
    this.ctimeNs = nowNs;
  }

  setXattrs(xattrs: ReadonlyMap<string, Uint8Array>, nowNs: bigint): void {
    this.attributes.xattrs = xattrs;
    this.ctimeNs = nowNs;
  }

  /** Records that the inode's bytes or names changed. */
  touch(nowNs: bigint): void {
    this.attributes.mtimeNs = nowNs;
    this.ctimeNs = nowNs;
  }

  syncAttributes(): void {
    this.durableAttributes = { ...this.attributes };
  }

  #sizeBytes(): number {
    if (this.content !== undefined) return this.content.sizeBytes;
    if (this.type === "symlink") return Buffer.byteLength(this.target);
    return this.type === "folder" ? 4096 : 0;
  }

  #nlink(): number {
    if (this.entries === undefined) return this.links;
    let folders = 0;
    for (const entry of this.entries.values()) if (entry.type === "folder") folders += 1;
    return this.links === 0 && this.place === undefined ? 0 : 2 + folders;
  }
}
