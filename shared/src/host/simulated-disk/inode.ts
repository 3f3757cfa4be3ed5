// A simulated inode: attributes, and by type its bytes, names or target. `durable…` is what a power cut would leave.
import type { DiskStat, FileType, SetStat } from "../disk.ts";
import { Content } from "./content.ts";

export interface Attributes {
  /** By name. */
  xattrs: ReadonlyMap<string, Uint8Array>;
  mode: number;
  uid: number;
  gid: number;
  mtimeNs: bigint;
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
  readonly content: Content | undefined;
  /** Of a folder. */
  readonly entries: Map<string, Inode> | undefined;
  durableEntries: Map<string, Inode> | undefined;
  /** Where a folder is bound. */
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

  /** Its bytes or names changed. */
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
