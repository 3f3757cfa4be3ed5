// Programs on the server that write to the served folder at any moment, above all while a save of a client is on its
// way into it. What they do is done at once and is durable then; each write is put down with what the file held before
// it and what it holds after it.
import type { Executor, SeededRandom, SimulatedClock, SimulatedDisk } from "@runnel/shared";
import { sleep } from "@runnel/shared";
import type { Call, History } from "./check/history.ts";
import type { OutsideStep } from "./plan.ts";
import { keyOf } from "./check/truth.ts";

type Folder = SimulatedDisk["root"];
type File = Folder & { content: NonNullable<Folder["content"]> };

const PAGE_BYTES = 4096;
/** A step is done all the same where nobody saves for so long. */
const WAIT_MS = 3_000;
/** Between two writes of one opening. */
const PAUSE_MS = 6;
/** Between two stores through one mapping: soon enough for nobody to take the file for one that is left alone. */
const STORE_MS = 600;
const PATCH_BYTES = 64;
const FILE_MODE = 0o644;

/** A write, or an exchange of files, by a program on the server. */
export interface OutsideWrite {
  path: string;
  how: OutsideStep["how"];
  atMs: number;
  /** Content of the file that was written to, or that another one took the place of; undefined when there was none. */
  before: string | undefined;
  after: string;
}

export interface OutsideParts {
  clock: SimulatedClock;
  random: SeededRandom;
  disk: SimulatedDisk;
  /** Path of the served folder. */
  folder: string;
  history: History;
  executor: Executor;
  isRunning(): boolean;
}

export class Outside {
  private readonly parts: OutsideParts;
  readonly writes: OutsideWrite[] = [];
  /** Sentences about each step, for a person. */
  readonly log: string[] = [];
  private temps = 0;
  /** Programs work in it wherever it is moved, and never in one that is put in its place. */
  private root: Folder | undefined;

  constructor(parts: OutsideParts) {
    this.parts = parts;
  }

  /** Does the steps as one program, one after another, each at its time from now. */
  async all(steps: readonly OutsideStep[]): Promise<void> {
    const { clock, disk, folder } = this.parts;
    const beganMs = clock.bootMs();
    this.root = folderAt(disk.root, folder);
    for (const step of steps.toSorted((a, b) => a.atMs - b.atMs)) {
      await sleep(clock, Math.max(0, beganMs + step.atMs - clock.bootMs()));
      const path = step.beside === undefined ? step.path : ((await this.nextSave(step.beside))?.path ?? step.path);
      await sleep(clock, step.lateMs);
      await this.one(step, path);
    }
  }

  private async nextSave(moment: "begin" | "end"): Promise<Call | undefined> {
    const { clock, history } = this.parts;
    const { promise, resolve } = Promise.withResolvers<Call | undefined>();
    const hear = (call: Call, what: "begin" | "end"): void => {
      if (call.kind === "write" && what === moment && call.outcome !== "failed") resolve(call);
    };
    history.listeners.add(hear);
    const timer = clock.after(WAIT_MS, () => resolve(undefined));
    const call = await promise;
    timer.cancel();
    history.listeners.delete(hear);
    return call;
  }

  private async one({ how, pieces }: OutsideStep, path: string): Promise<void> {
    const { clock, random, isRunning } = this.parts;
    // The machine is off.
    if (!isRunning()) return;
    this.log.push(`${Math.round(clock.bootMs())} outside ${how} ${path}`);
    if (how === "replace") return this.replace(path);
    const found = this.find(path);
    if (found === undefined) return;
    const { life } = this.parts.disk;
    found.file.openings += 1;
    for (let piece = 0; piece < pieces && life === this.parts.disk.life; piece++) {
      if (piece > 0) await sleep(clock, random.below(how === "mapped" ? STORE_MS : PAUSE_MS));
      if (life === this.parts.disk.life) await this.write(how, path, found, piece === 0);
    }
    if (life !== this.parts.disk.life) return;
    found.file.openings -= 1;
    this.report(found, "changed");
    this.parts.disk.release(found.file);
  }

  private async write(how: OutsideStep["how"], path: string, found: Found, isFirst: boolean): Promise<void> {
    const { disk, random } = this.parts;
    const { content } = found.file;
    const before = content.read(0, content.sizeBytes);
    const pages = content.pageCount;
    if (how === "truncate") content.truncate(random.below(content.sizeBytes + 1));
    else {
      const patch = random.bytes(1 + random.below(PATCH_BYTES));
      const offset = how === "append" ? before.length : random.below(Math.max(1, before.length - patch.length + 1));
      if (content.missingPages(offset, patch.length) * PAGE_BYTES > disk.freeBytes) return;
      content.write(offset, patch);
    }
    disk.takePages(content.pageCount - pages);
    content.commit(content.freeze());
    // Through a mapping: the first store into a page stamps the file, later ones do not, and nobody is told of any.
    if (how !== "mapped" || isFirst) found.file.touch(disk.nowNs());
    found.file.syncAttributes();
    if (how !== "mapped") this.report(found, "writing");
    await this.put(how, path, before, content.read(0, content.sizeBytes));
  }

  /** A new file under another name, and then over this one. */
  private async replace(path: string): Promise<void> {
    const { disk, random } = this.parts;
    const folder = this.folderOf(path);
    const old = this.find(path);
    const bytes = random.bytes(1 + random.below(3 * PAGE_BYTES));
    if (folder === undefined || bytes.length + PAGE_BYTES > disk.freeBytes) return;
    const name = path.slice(path.lastIndexOf("/") + 1);
    if (old === undefined && folder.entries?.has(name) === true) return;
    const temp = `${name}.new${++this.temps}`;
    const { inode, reuses } = disk.makeInode("file", FILE_MODE);
    disk.bind([{ folder, name: temp, from: undefined, to: inode }], reuses);
    inode.content?.write(0, bytes);
    disk.takePages(inode.content?.pageCount ?? 0);
    inode.content?.commit(inode.content.freeze());
    inode.syncAttributes();
    const before = old?.file.content.read(0, old.file.content.sizeBytes);
    disk.bind([
      { folder, name: temp, from: inode, to: undefined },
      { folder, name, from: old?.file, to: inode },
    ]);
    disk.names.sync(folder);
    await this.put("replace", path, before, bytes);
  }

  private async put(
    how: OutsideStep["how"],
    path: string,
    before: Uint8Array | undefined,
    after: Uint8Array,
  ): Promise<void> {
    const { clock, executor } = this.parts;
    const write: OutsideWrite = { path, how, atMs: clock.bootMs(), before: undefined, after: "" };
    this.writes.push(write);
    if (before !== undefined) write.before = keyOf(await executor.chunkBytes(before));
    write.after = keyOf(await executor.chunkBytes(after));
  }

  private folderOf(path: string): Folder | undefined {
    return folderAt(this.root, path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  }

  private find(path: string): Found | undefined {
    const folder = this.folderOf(path);
    const name = path.slice(path.lastIndexOf("/") + 1);
    const file = folder?.entries?.get(name);
    return folder === undefined || file?.content === undefined ? undefined : { folder, name, file: file as File };
  }

  /** Under the name that it has by now, as inotify has it. */
  private report(found: Found, kind: "writing" | "changed"): void {
    const { disk } = this.parts;
    const visit = (folder: Folder): void => {
      for (const [name, entry] of folder.entries ?? []) {
        if (entry === found.file) disk.report(folder, name, kind);
        else visit(entry);
      }
    };
    visit(disk.root);
  }
}

interface Found {
  folder: Folder;
  name: string;
  file: File;
}

function folderAt(root: Folder | undefined, path: string): Folder | undefined {
  let at = root;
  for (const name of path.split("/").filter((part) => part !== "")) at = at?.entries?.get(name);
  return at?.entries === undefined ? undefined : at;
}
