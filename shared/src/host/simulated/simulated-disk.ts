// A disk in memory. What was not synced survives `crash` or does not, by a seeded coin, within what POSIX allows. It
// can be slow, full or failing. Everything else is as on a real one: the same contract suite passes.
import { type ErrorKind, RunnelError } from "../../errors.ts";
import type { Disk, DiskRoot } from "../disk.ts";
import { textOfName } from "../../model/name-text.ts";
import type { Inode } from "./disk/inode.ts";
import { SimulatedRoot } from "./disk/root.ts";
import { SimulatedStorage } from "./disk/storage.ts";

const SYMLINKS_FOLLOWED_MAX = 40;

export class SimulatedDisk extends SimulatedStorage implements Disk {
  async openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot> {
    await this.turn("openRoot", path, this.life);
    let at = this.root;
    const parts = path.split("/").filter((part) => part !== "");
    for (let followed = 0; parts.length > 0;) {
      const part = parts.shift() ?? "";
      if (at.entries === undefined) throw failure("NotFolder", path, "is not a folder");
      let next = at.entries.get(part);
      if (next?.type === "symlink" && followed++ < SYMLINKS_FOLLOWED_MAX) {
        if (next.target.startsWith("/")) at = this.root;
        parts.unshift(...next.target.split("/").filter((word) => word !== ""));
        continue;
      }
      if (next === undefined && make !== undefined) next = this.#makeRootFolder(at, part, make.permissions);
      if (next === undefined) throw failure("NotFound", path, "is not there");
      at = next;
    }
    if (at.entries === undefined) throw failure("NotFolder", path, "is not a folder");
    return new SimulatedRoot(this, at, path);
  }

  /** Puts another file system on the folder at this absolute path. */
  mountOver(path: string): void {
    this.#folderAt(path).dev += 1;
  }

  /** Makes a file whose name is not UTF-8, which only other programs can do. */
  makeRawName(folder: string, name: Uint8Array): void {
    const at = this.#folderAt(folder);
    const { inode, reuses } = this.makeInode("file", 0o600);
    this.bind([{ folder: at, name: textOfName(name), from: undefined, to: inode }], reuses);
  }

  /** A write by another program ends: the file was stamped as it began, and is told of now. */
  endLongWrite(folder: string, name: string, offset: number, bytes: Uint8Array): void {
    const at = this.#folderAt(folder);
    at.entries?.get(name)?.content?.write(offset, bytes);
    this.report(at, name, "writing");
  }

  #folderAt(path: string): Inode {
    let at: Inode | undefined = this.root;
    for (const part of path.split("/").filter((word) => word !== "")) at = at?.entries?.get(part);
    if (at === undefined) throw new Error(`${path} is not there.`);
    return at;
  }

  /** The way to a root is made durable with it. */
  #makeRootFolder(folder: Inode, name: string, permissions: number): Inode {
    const { inode, reuses } = this.makeInode("folder", permissions);
    this.bind([{ folder, name, from: undefined, to: inode }], reuses);
    this.names.sync(folder);
    return inode;
  }
}

function failure(kind: ErrorKind, path: string, what: string): RunnelError {
  return new RunnelError(kind, "open root", `${path} ${what}`);
}
