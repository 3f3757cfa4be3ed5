// The two disks of a simulated server: what it serves lies on one, its own state on the other. They lose power
// together, and fill each for itself.
import { type Clock, type Disk, type DiskRoot, SimulatedDisk } from "@runnel/shared";

const PAGE_BYTES = 4096;
const FOLDER_MODE = 0o755;
/** Work that was begun for want of space goes on so long, once the disks are as fast as ever. */
const SHORT_MS = 10_000;
const TRASH_NAME = "trash";

export class ServerDisks implements Disk {
  readonly served: SimulatedDisk;
  /** Another one may be put in its place. */
  state: SimulatedDisk;
  private readonly statePath: string;
  private readonly full = new Map<SimulatedDisk, number>();
  /** Room is being made until then. */
  private shortUntilMs = -Infinity;
  private slowSinceMs: number | undefined;
  private usualMs: readonly ((path: string) => number)[] | undefined;
  /** Since when the served folder is not at its path; undefined: it is. */
  awaySinceMs: number | undefined;
  /** Old versions that went while there was no room: they make room for what is new. */
  readonly dropped: Uint8Array[] = [];

  /** `statePath`: what lies below it is on the server's own. */
  constructor(clock: Clock, seed: number, statePath: string) {
    this.served = new SimulatedDisk({ clock, seed });
    this.state = new SimulatedDisk({ clock, seed: seed + 1 });
    this.statePath = statePath;
    const { served } = this;
    const bind = served.bind.bind(served);
    served.bind = (slots, reuses) => {
      for (const { folder, from, to } of slots) {
        if (folder.place?.name !== TRASH_NAME || from?.content === undefined || to !== undefined) continue;
        if (this.isShort) this.dropped.push(from.content.read(0, from.content.sizeBytes));
      }
      bind(slots, reuses);
    };
  }

  get both(): readonly SimulatedDisk[] {
    return [this.served, this.state];
  }

  openRoot(path: string, make?: { permissions: number }): Promise<DiskRoot> {
    return (path.startsWith(this.statePath) ? this.state : this.served).openRoot(path, make);
  }

  /** The served folder is moved away, and perhaps an empty one is put in its place; undone by what this returns. */
  moveAway(path: string, leavesEmpty: boolean): () => void {
    const { served } = this;
    const parts = path.split("/").filter((part) => part !== "");
    const name = parts.pop() ?? "";
    let folder: SimulatedDisk["root"] = served.root;
    for (const part of parts) folder = folder.entries?.get(part) ?? folder;
    const away = `${name}.away`;
    const rename = (from: string, to: string): void => {
      const inode = folder.entries?.get(from);
      if (inode === undefined) return;
      served.bind([
        { folder, name: from, from: inode, to: undefined },
        { folder, name: to, from: folder.entries?.get(to), to: inode },
      ]);
      served.names.sync(folder);
    };
    rename(name, away);
    this.awaySinceMs = served.clock.bootMs();
    if (leavesEmpty) {
      const { inode, reuses } = served.makeInode("folder", FOLDER_MODE);
      served.bind([{ folder, name, from: undefined, to: inode }], reuses);
    }
    return () => {
      rename(name, `${name}.stub`);
      rename(away, name);
      this.awaySinceMs = undefined;
    };
  }

  /** Each call takes so long, until what this returns is called. */
  slow(delayMs: () => number): () => void {
    const { clock } = this.served;
    this.usualMs ??= this.both.map((disk) => disk.delayMs.bind(disk));
    this.slowSinceMs ??= clock.bootMs();
    for (const disk of this.both) disk.delayMs = delayMs;
    return () => {
      for (const [index, disk] of this.both.entries()) disk.delayMs = this.usualMs?.[index] ?? (() => 0);
      if (this.isShort) this.shortUntilMs = Math.max(this.shortUntilMs, clock.bootMs() + SHORT_MS);
      this.slowSinceMs = undefined;
    };
  }

  private get isShort(): boolean {
    return (this.slowSinceMs ?? this.served.clock.bootMs()) < this.shortUntilMs;
  }

  crash(): void {
    for (const disk of this.both) {
      disk.crash();
      if (this.full.has(disk)) this.full.set(disk, take(disk));
    }
  }

  /** Something else takes all the room there is. */
  fill(disk: SimulatedDisk): void {
    if (disk === this.served) this.shortUntilMs = Infinity;
    this.full.set(disk, (this.full.get(disk) ?? 0) + take(disk));
  }

  empty(disk: SimulatedDisk): void {
    disk.takePages(-(this.full.get(disk) ?? 0));
    this.full.delete(disk);
    if (disk === this.served) this.shortUntilMs = disk.clock.bootMs() + SHORT_MS;
  }
}

function take(disk: SimulatedDisk): number {
  return disk.takePages(Math.floor(disk.freeBytes / PAGE_BYTES));
}
