// A stand-in for the agent and its server: a tree in memory, versions by number, cache files in a folder. It answers a
// Drive's requests as the agent does and lets a test play the rest of the world: changes from elsewhere, silence,
// errors.
import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { ErrorKind } from "@runnel/shared";
import type { Drive, DriveEntry, DriveNotice, DriveRequest } from "../../drive.ts";

interface Node {
  entry: DriveEntry;
  xattrs?: Map<string, Uint8Array>;
  /** Folders: name → node. */
  names: Map<string, number>;
  /** Files: every version's bytes. */
  versions: Map<number, Buffer>;
}

interface Cached {
  id: number;
  node: number;
  version: number;
  path: string;
  /** Bytes put so far, to see that nothing is fetched twice. */
  present: { offset: number; length: number }[];
}

const ROOT = 1;
/** It keeps every version in memory. */
const FILE_MAX = 1 << 30;
const S_ISGID = 0o2000;

export type RequestOf<Op extends DriveRequest["op"]> = Extract<DriveRequest, { op: Op }>;

/** The outcome of a request: its failure, or whether it has been answered already. */
type Outcome = ErrorKind | "done" | "answered";

const BLOCK_BYTES = 4096;

/** Zeros become holes. */
function writeSparsely(path: string, bytes: Buffer): void {
  const fd = openSync(path, "w");
  ftruncateSync(fd, bytes.length);
  for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
    const block = bytes.subarray(at, at + BLOCK_BYTES);
    if (block.some((byte) => byte !== 0)) writeSync(fd, block, 0, block.length, at);
  }
  closeSync(fd);
}

export class FakeAgent {
  readonly drive: Drive;
  readonly #folder: string;
  readonly #bootMs: () => number;
  readonly #owner: { uid: number; gid: number };
  readonly #nodes = new Map<number, Node>();
  readonly #contents = new Map<number, Cached>();
  readonly #held: DriveRequest[] = [];
  readonly #holds = new Set<string>();
  readonly #failures = new Map<string, ErrorKind[]>();
  /** Every request and notice, in order. */
  readonly log: (DriveRequest | DriveNotice)[] = [];
  #failedCommit: RequestOf<"commit"> | undefined;
  /** Overlays of the open file that was saved last, which are not merged. */
  #overlays: { file: number; paths: string[] } = { file: 0, paths: [] };
  #joined = 0;
  #nextNode = 2;
  #nextContent = 1;
  #seq = 1;
  #hasLease = false;
  /** Puts all of a content when it is opened; else nothing, so that reads fetch. */
  /** Added to the versions of contents that are saved: those of contents which the server lacks begin at 2 ** 52. */
  versionsFrom = 0;
  cacheWhole = false;
  /** Wants what is saved; else it is of files that have been removed, though the drive has not heard so. */
  wantsCommits = true;
  /** Merges committed layers into a new content at once. */
  rebases = true;
  /**
   * A file of the root that another client moves over the next one that is made there, before its program has the
   * answer.
   */
  movedOverNext = "";

  /** `owner`: of what others have made. */
  constructor(drive: Drive, folder: string, bootMs: () => number, owner = { uid: 0, gid: 0 }) {
    this.drive = drive;
    this.#owner = owner;
    this.#folder = folder;
    this.#bootMs = bootMs;
    mkdirSync(folder, { recursive: true });
    this.#nodes.set(ROOT, {
      entry: this.#newEntry(ROOT, "folder", 0o777),
      names: new Map(),
      versions: new Map(),
    });
  }

  #newEntry(node: number, type: DriveEntry["type"], mode: number): DriveEntry {
    const now = BigInt(Date.now()) * 1_000_000n;
    const nlink = type === "folder" ? 2 : 1;
    const version = this.#seq;
    return { node, type, mode, ...this.#owner, sizeBytes: 0, mtimeNs: now, ctimeNs: now, nlink, rdev: 0, version };
  }

  async start(): Promise<void> {
    await this.drive.start({
      requests: (batch) => {
        for (const request of batch) this.#take(request);
      },
      notice: (notice) => this.log.push(notice),
    });
    this.drive.putNode(this.#get(ROOT).entry, false);
    this.setLease(true);
  }

  /** Gives a lease for an hour, or takes it. */
  setLease(has: boolean, forMs = 3_600_000): void {
    this.#hasLease = has;
    this.drive.setLease(has ? this.#bootMs() + forMs : 0);
  }

  // ── what a test says ──

  /** Requests of this kind wait until release(). */
  hold(...ops: DriveRequest["op"][]): void {
    for (const op of ops) this.#holds.add(op);
  }

  /** Answers what waits: all of it, or what is of this kind. */
  release(only?: DriveRequest["op"]): void {
    if (only === undefined) this.#holds.clear();
    else this.#holds.delete(only);
    const released = this.#held.filter(({ op }) => only === undefined || op === only);
    this.#held.splice(0, this.#held.length, ...this.#held.filter((request) => !released.includes(request)));
    for (const request of released) this.#answer(request);
  }

  heldCount(): number {
    return this.#held.length;
  }

  commitDirty(): Promise<ErrorKind | undefined> {
    return this.drive.commitDirty();
  }

  /** Says that the requests which wait are being worked on. */
  prolong(): void {
    for (const { id } of this.#held) this.drive.prolong(id);
  }

  /** The next request of this kind is answered so. */
  failNext(op: DriveRequest["op"], kind: ErrorKind): void {
    this.#failures.set(op, [...(this.#failures.get(op) ?? []), kind]);
  }

  logOf(op: string): object[] {
    return this.log.filter((item) => item.op === op);
  }

  clearLog(): void {
    this.log.length = 0;
  }

  /**
   * Sends the content of the last commit that failed, as a new file's where its own is not to have it. Returns what the
   * drive says of that.
   */
  saveFailed(isElsewhere = false): boolean {
    const request = this.#failedCommit;
    if (request === undefined) throw new Error("No commit has failed.");
    const node = isElsewhere ? this.#newNode("file", 0o644) : this.#get(request.node);
    this.#commit(node, this.#contentOf(request), request.mtimeNs);
    if (!isElsewhere) this.#putEverywhere(node);
    return this.drive.saved(request.file, request.id, node.entry.version, isElsewhere);
  }

  /**
   * Joins the layers of the open file that was saved last, as of its last commit, and removes the file that they lie in
   * then: it is open. Returns what the drive says of that.
   */
  joinLayers(): boolean {
    const request = this.logOf("commit").at(-1) as RequestOf<"commit"> | undefined;
    const node = request && this.#nodes.get(request.node);
    const { file, paths } = this.#overlays;
    if (node === undefined || request?.file !== file) return false;
    const path = join(this.#folder, `joined-${++this.#joined}`);
    writeSparsely(path, this.#bytes(node));
    const isJoined = this.drive.joinLayers(file, paths, path);
    for (const former of [...(isJoined ? paths.splice(0, paths.length, path) : []), path])
      rmSync(former, { force: true });
    return isJoined;
  }

  setKnobs(knobs: { cacheWhole?: boolean; rebases?: boolean; movedOverNext?: string }): void {
    Object.assign(this, knobs);
  }

  /** Occupies the event loop. */
  stall(forMs: number): void {
    const end = performance.now() + forMs;
    while (performance.now() < end) continue;
  }

  bytesAt(path: string): Buffer | undefined {
    const node = this.#resolve(path);
    return node === undefined ? undefined : this.#bytes(node);
  }

  entryAt(path: string): DriveEntry | undefined {
    const node = this.#resolve(path);
    return node === undefined ? undefined : { ...node.entry };
  }

  /** Another client writes a file, making it if need be; the drive hears of it as of a feed item. */
  remoteWrite(path: string, bytes: Uint8Array): number {
    const { folder, name } = this.#split(path);
    let node = this.#child(folder, name);
    if (node === undefined) {
      node = this.#newNode("file", 0o644);
      folder.names.set(name, node.entry.node);
    }
    this.#commit(node, Buffer.from(bytes), BigInt(Date.now()) * 1_000_000n);
    this.#bind(folder, name, true);
    return node.entry.node;
  }

  remoteMkdir(path: string): void {
    const { folder, name } = this.#split(path);
    folder.names.set(name, this.#newNode("folder", 0o755).entry.node);
    this.#bind(folder, name, true);
  }

  remoteRemove(path: string): void {
    const { folder, name } = this.#split(path);
    folder.names.delete(name);
    this.#bind(folder, name, true);
  }

  remoteRename(path: string, newPath: string): void {
    const from = this.#split(path);
    const to = this.#split(newPath);
    const node = from.folder.names.get(from.name);
    if (node === undefined) throw new Error("no such file");
    from.folder.names.delete(from.name);
    to.folder.names.set(to.name, node);
    this.#bind(to.folder, to.name, true);
    this.#bind(from.folder, from.name, true);
  }

  remoteChmod(path: string, mode: number): void {
    const { folder, name } = this.#split(path);
    const node = this.#child(folder, name);
    if (node === undefined) throw new Error("no such file");
    node.entry = { ...node.entry, mode };
    this.#bind(folder, name, true);
  }

  /** A folder with this many small files, put as one listing. */
  fill(path: string, count: number): void {
    const { folder, name } = this.#split(path);
    const made = this.#newNode("folder", 0o755);
    folder.names.set(name, made.entry.node);
    for (let index = 0; index < count; index++) {
      const node = this.#newNode("file", 0o644);
      this.#commit(node, Buffer.from(`file ${index}`), node.entry.mtimeNs);
      made.names.set(`f${index}`, node.entry.node);
    }
    this.#bind(folder, name, false);
    this.#putFolder(made);
  }

  // ── the agent ──

  #take(request: DriveRequest): void {
    this.log.push(request);
    const failures = this.#failures.get(request.op);
    const kind = failures?.shift();
    if (kind !== undefined && request.op === "commit") this.#failedCommit = request;
    if (kind !== undefined) this.drive.fail(request.id, kind);
    else if (this.#holds.has(request.op)) this.#held.push(request);
    else this.#answer(request);
  }

  #answer(request: DriveRequest): void {
    if (request.answeredNs !== undefined) this.drive.tookIn(request.id);
    const outcome = this.#handle(request);
    if (outcome === "done") this.drive.done(request.id);
    else if (outcome !== "answered") this.drive.fail(request.id, outcome);
  }

  #handle(request: DriveRequest): Outcome {
    switch (request.op) {
      case "lookup":
        return this.#onLookup(request);
      case "getattr": {
        const node = this.#nodes.get(request.node);
        if (node === undefined || !this.#isNamed(request.node)) return "Stale";
        this.drive.putNode(node.entry, false);
        return "done";
      }
      case "list": {
        const folder = this.#nodes.get(request.folder);
        if (folder === undefined || !this.#isNamed(request.folder)) return "NotFound";
        this.#putFolder(folder);
        return "done";
      }
      case "open":
        return this.#onOpen(request);
      case "create":
        return this.#onCreate(request);
      case "make":
        return this.#onMake(request);
      case "link":
        return this.#onLink(request);
      case "remove":
        return this.#onRemove(request);
      case "rename":
        return this.#onRename(request);
      case "setattr":
        return this.#onSetattr(request);
      case "fetch":
        return this.#onFetch(request);
      case "commit":
        return this.#onCommit(request);
      case "xattrs":
        this.drive.xattrs(request.id, [...(this.#nodes.get(request.node)?.xattrs ?? [])]);
        return "answered";
      case "setxattr":
        return this.#onSetxattr(request);
      case "sync":
        return "done";
      case "statfs":
        this.drive.statfs(request.id, {
          totalBytes: 1 << 30,
          freeBytes: 1 << 29,
          availableBytes: 1 << 29,
          totalFiles: 1000,
          freeFiles: 500,
        });
        return "answered";
    }
  }

  #onSetxattr({ node: number, name, how, value }: RequestOf<"setxattr">): Outcome {
    const node = this.#nodes.get(number);
    if (node === undefined) return "Stale";
    const xattrs = new Map(node.xattrs);
    if (how === "create" && xattrs.has(name)) return "Exists";
    if ((how === "replace" || how === "remove") && !xattrs.has(name)) return "NoAttribute";
    if (how === "remove") xattrs.delete(name);
    else xattrs.set(name, value);
    node.xattrs = xattrs;
    node.entry = { ...node.entry, xattrs: xattrs.size === 0 ? 0 : ++this.#seq };
    this.drive.putNode(node.entry, false);
    return "done";
  }

  #onLookup({ folder, name }: RequestOf<"lookup">): Outcome {
    const parent = this.#nodes.get(folder);
    if (parent === undefined) return "Stale";
    this.#bind(parent, name, false);
    return "done";
  }

  #onOpen({ id, node: number }: RequestOf<"open">): Outcome {
    const node = this.#nodes.get(number);
    if (node === undefined) return "Stale";
    const { version, sizeBytes } = node.entry;
    this.drive.opened(id, { content: sizeBytes === 0 ? 0 : this.#content(node), version });
    return "answered";
  }

  #onCreate({ id, folder, name, mode, caller }: RequestOf<"create">): Outcome {
    const parent = this.#nodes.get(folder);
    if (parent === undefined) return "Stale";
    if (parent.names.has(name)) return "Exists";
    const node = this.#newNode("file", mode, parent, caller);
    parent.names.set(name, node.entry.node);
    this.#bind(parent, name, false);
    const { movedOverNext } = this;
    this.movedOverNext = "";
    if (movedOverNext !== "") this.remoteRename(movedOverNext, name);
    this.drive.putNode(node.entry, false);
    this.drive.created(id, { node: node.entry.node, version: node.entry.version });
    return "answered";
  }

  #onMake({ folder, name, type, mode, rdev, target, caller, node: made, answeredNs }: RequestOf<"make">): Outcome {
    const parent = this.#nodes.get(folder);
    if (parent === undefined) return "Stale";
    if (parent.names.has(name)) return "Exists";
    const node = this.#newNode(type, mode, parent, caller, made);
    if (answeredNs !== undefined) {
      node.entry = { ...node.entry, version: 0, mtimeNs: answeredNs, ctimeNs: answeredNs };
      node.versions.set(0, Buffer.alloc(0));
    }
    node.entry = {
      ...node.entry,
      rdev,
      ...(type === "symlink" ? { target, sizeBytes: Buffer.byteLength(target) } : {}),
    };
    parent.names.set(name, node.entry.node);
    if (type === "folder") this.#touch(parent, 1);
    this.#bind(parent, name, false);
    return "done";
  }

  #onLink({ node: number, folder, name }: RequestOf<"link">): Outcome {
    const node = this.#nodes.get(number);
    const parent = this.#nodes.get(folder);
    if (node === undefined || parent === undefined) return "Stale";
    if (parent.names.has(name)) return "Exists";
    parent.names.set(name, number);
    node.entry = { ...node.entry, nlink: node.entry.nlink + 1, ctimeNs: BigInt(Date.now()) * 1_000_000n };
    this.drive.putNode(node.entry, false);
    this.#bind(parent, name, false);
    return "done";
  }

  #onRemove({ folder, name, isFolder }: RequestOf<"remove">): Outcome {
    const parent = this.#nodes.get(folder);
    const node = parent === undefined ? undefined : this.#child(parent, name);
    if (parent === undefined) return "Stale";
    if (node === undefined) return "NotFound";
    if (isFolder && node.entry.type !== "folder") return "NotFolder";
    if (!isFolder && node.entry.type === "folder") return "IsFolder";
    if (node.names.size > 0) return "NotEmpty";
    this.#unname(parent, name, node);
    this.#bind(parent, name, false);
    if (isFolder) this.#touch(parent, -1);
    return "done";
  }

  #onRename({ folder, name, toFolder, toName, how }: RequestOf<"rename">): Outcome {
    const parent = this.#nodes.get(folder);
    const toParent = this.#nodes.get(toFolder);
    if (parent === undefined || toParent === undefined) return "Stale";
    const node = this.#child(parent, name);
    const victim = this.#child(toParent, toName);
    if (node === undefined || (how === "exchange" && victim === undefined)) return "NotFound";
    if (node === victim) return "done";
    if (victim !== undefined && how === "keep") return "Exists";
    if (how === "exchange" && victim !== undefined) {
      parent.names.set(name, victim.entry.node);
    } else {
      if (victim !== undefined && victim.names.size > 0) return "NotEmpty";
      if (victim !== undefined) this.#unname(toParent, toName, victim);
      parent.names.delete(name);
    }
    toParent.names.set(toName, node.entry.node);
    this.#bind(toParent, toName, false);
    this.#bind(parent, name, false);
    return "done";
  }

  #onSetattr({ node: number, mode, uid, gid, mtimeNs, sizeBytes }: RequestOf<"setattr">): Outcome {
    const node = this.#nodes.get(number);
    if (node === undefined || !this.#isNamed(number)) return "Stale";
    if (sizeBytes !== undefined) {
      if (sizeBytes > FILE_MAX) return "TooLarge";
      const bytes = Buffer.alloc(sizeBytes);
      this.#bytes(node).copy(bytes);
      this.#commit(node, bytes, BigInt(Date.now()) * 1_000_000n);
    }
    const { entry } = node;
    node.entry = {
      ...entry,
      mode: mode ?? entry.mode,
      uid: uid ?? entry.uid,
      gid: gid ?? entry.gid,
      mtimeNs: mtimeNs ?? entry.mtimeNs,
      ctimeNs: BigInt(Date.now()) * 1_000_000n,
    };
    this.drive.putNode(node.entry, false);
    return "done";
  }

  #onFetch({ content, offset, length }: RequestOf<"fetch">): Outcome {
    const cached = this.#contents.get(content);
    const node = cached && this.#nodes.get(cached.node);
    const bytes = cached && node?.versions.get(cached.version);
    if (cached === undefined || bytes === undefined) return "Io";
    this.#fill(cached, bytes, offset, length);
    return "done";
  }

  #contentOf(request: RequestOf<"commit">): Buffer {
    const bytes = Buffer.alloc(request.sizeBytes);
    const base = this.#nodes.get(request.node)?.versions.get(request.baseVersion) ?? Buffer.alloc(0);
    base.copy(bytes, 0, 0, Math.min(request.baseBytes, request.sizeBytes));
    for (const { path, extents } of request.layers) {
      const fd = openSync(path, "r");
      for (const { offset, length } of extents) readSync(fd, bytes, offset, length, offset);
      closeSync(fd);
    }
    return bytes;
  }

  #onCommit(request: RequestOf<"commit">): Outcome {
    const node = this.#nodes.get(request.node);
    if (node === undefined) return "Stale";
    if (request.sizeBytes > FILE_MAX) return "TooLarge";
    if (!this.wantsCommits) {
      this.drive.committed(request.id, { version: 0 });
      return "answered";
    }
    this.#commit(node, this.#contentOf(request), request.mtimeNs);
    this.#putEverywhere(node);
    this.drive.committed(request.id, { version: node.entry.version });
    if (request.file !== this.#overlays.file || this.rebases) this.#overlays = { file: request.file, paths: [] };
    if (!this.rebases) this.#overlays.paths.push(...request.layers.map(({ path }) => path));
    if (this.rebases) {
      const before = this.cacheWhole;
      this.cacheWhole = true;
      this.drive.rebase(request.file, this.#content(node));
      this.cacheWhole = before;
      for (const { path } of request.layers) rmSync(path, { force: true });
    }
    return "answered";
  }

  // ── its own tables ──

  #get(node: number): Node {
    const found = this.#nodes.get(node);
    if (found === undefined) throw new Error(`no node ${node}`);
    return found;
  }

  #newNode(
    type: DriveEntry["type"],
    mode: number,
    parent?: Node,
    caller?: { uid: number; gid: number },
    number = this.#nextNode++,
  ): Node {
    const entry = this.#newEntry(number, type, mode);
    const isSetgid = parent !== undefined && (parent.entry.mode & S_ISGID) !== 0;
    entry.uid = caller?.uid ?? this.#owner.uid;
    entry.gid = isSetgid ? parent.entry.gid : (caller?.gid ?? this.#owner.gid);
    if (isSetgid && type === "folder") entry.mode |= S_ISGID;
    const node: Node = { entry, names: new Map(), versions: new Map([[entry.version, Buffer.alloc(0)]]) };
    this.#nodes.set(number, node);
    return node;
  }

  #bytes(node: Node): Buffer {
    return node.versions.get(node.entry.version) ?? Buffer.alloc(0);
  }

  #commit(node: Node, bytes: Buffer, mtimeNs: bigint): void {
    const version = this.versionsFrom + ++this.#seq;
    node.versions.set(version, bytes);
    node.entry = { ...node.entry, version, sizeBytes: bytes.length, mtimeNs, ctimeNs: BigInt(Date.now()) * 1_000_000n };
  }

  #child(folder: Node, name: string): Node | undefined {
    const node = folder.names.get(name);
    return node === undefined ? undefined : this.#get(node);
  }

  #isNamed(node: number): boolean {
    if (node === ROOT) return true;
    for (const { names } of this.#nodes.values()) for (const named of names.values()) if (named === node) return true;
    return false;
  }

  #unname(folder: Node, name: string, node: Node): void {
    folder.names.delete(name);
    if (node.entry.type === "folder" || node.entry.nlink < 2) return;
    node.entry = { ...node.entry, nlink: node.entry.nlink - 1 };
    this.drive.putNode(node.entry, false);
  }

  #touch(folder: Node, subfolders: number): void {
    folder.entry = { ...folder.entry, nlink: folder.entry.nlink + subfolders };
    this.drive.putNode(folder.entry, false);
  }

  #bind(folder: Node, name: string, changed: boolean): void {
    const entry = this.#child(folder, name)?.entry;
    this.drive.putEntries([{ folder: folder.entry.node, name, entry }], changed);
  }

  #putFolder(folder: Node): void {
    const listing = [...folder.names].map(([name, node]) => ({ name, entry: this.#get(node).entry }));
    this.drive.putFolder(folder.entry.node, listing);
  }

  #putEverywhere(node: Node): void {
    this.drive.putNode(node.entry, false);
  }

  #split(path: string): { folder: Node; name: string } {
    const names = path.split("/").filter((name) => name !== "");
    const name = names.pop() ?? "";
    const folder = names.reduce<Node>((at, step) => {
      const next = this.#child(at, step);
      if (next === undefined) throw new Error("no such folder");
      return next;
    }, this.#get(ROOT));
    return { folder, name };
  }

  #resolve(path: string): Node | undefined {
    const { folder, name } = this.#split(path);
    return name === "" ? folder : this.#child(folder, name);
  }

  /** The cached content of a node's current version, put if it was not. */
  #content(node: Node): number {
    const { version } = node.entry;
    for (const cached of this.#contents.values()) {
      if (cached.node === node.entry.node && cached.version === version) return cached.id;
    }
    const id = this.#nextContent++;
    const path = join(this.#folder, `content-${id}`);
    const bytes = this.#bytes(node);
    writeSparsely(path, this.cacheWhole ? bytes : Buffer.alloc(0));
    const present = this.cacheWhole && bytes.length > 0 ? [{ offset: 0, length: bytes.length }] : [];
    this.#contents.set(id, { id, node: node.entry.node, version, path, present: [...present] });
    this.drive.putContent({ id, node: node.entry.node, version, path, sizeBytes: bytes.length, present });
    return id;
  }

  #fill(cached: Cached, bytes: Buffer, offset: number, length: number): void {
    const fd = openSync(cached.path, "r+");
    writeSync(fd, bytes, offset, length, offset);
    closeSync(fd);
    cached.present.push({ offset, length });
    this.drive.putRanges(cached.id, [{ offset, length }]);
  }

  /** Puts the whole current content of a file, so that it opens and reads without a question. */
  cache(path: string): void {
    const node = this.#resolve(path);
    if (node === undefined) throw new Error("no such file");
    const id = this.#content(node);
    const cached = this.#contents.get(id);
    const bytes = this.#bytes(node);
    if (cached !== undefined) this.#fill(cached, bytes, 0, bytes.length);
  }

  /** Shows a file as it is, but for these. */
  show(path: string, otherwise: Partial<DriveEntry> = {}): void {
    const node = this.#resolve(path);
    if (node === undefined) throw new Error("no such file");
    this.drive.putNode({ ...node.entry, ...otherwise }, true);
  }

  /** Puts the content of a file once more, as for a second program that opens it. */
  putAgain(path: string): void {
    const node = this.#resolve(path);
    for (const { id, node: of, version, path: at, present } of this.#contents.values()) {
      if (node === undefined || of !== node.entry.node || version !== node.entry.version) continue;
      this.drive.putContent({ id, node: of, version, path: at, sizeBytes: this.#bytes(node).length, present });
    }
  }

  /** Drops a cached file, and returns what the drive's own view of it says, for tests of eviction. */
  drop(path: string): boolean {
    const node = this.#resolve(path);
    for (const cached of this.#contents.values()) {
      if (node === undefined || cached.node !== node.entry.node || cached.version !== node.entry.version) continue;
      if (!this.drive.dropContent(cached.id)) return false;
      this.#contents.delete(cached.id);
      rmSync(cached.path);
    }
    return true;
  }

  /**
   * Returns true when nobody but the file that was saved last (or nobody at all) has the current content of this path
   * open; it is not opened again then.
   */
  releaseContent(path: string, isBySaved: boolean): boolean {
    const node = this.#resolve(path);
    const saved = this.log.findLast((request) => "op" in request && request.op === "commit") as RequestOf<"commit">;
    for (const { id, node: of, version } of this.#contents.values()) {
      if (of !== node?.entry.node || version !== node.entry.version) continue;
      if (!this.drive.dropContentBut(id, isBySaved ? saved.file : 0)) return false;
      return this.#contents.delete(id);
    }
    throw new Error("no such content");
  }

  /** Another content, with nothing in it, in place of the current one of this path. */
  startOver(path: string): boolean {
    const node = this.#resolve(path);
    for (const { id, node: of, version, path: at } of this.#contents.values()) {
      if (node === undefined || of !== node.entry.node || version !== node.entry.version) continue;
      this.#contents.delete(id);
      const { cacheWhole } = this;
      this.cacheWhole = false;
      const by = this.#content(node);
      this.cacheWhole = cacheWhole;
      rmSync(at);
      return this.drive.replaceContent(id, by);
    }
    throw new Error("no such content");
  }

  statistics(): ReturnType<Drive["statistics"]> {
    return this.drive.statistics();
  }

  readCacheFile(path: string): Buffer {
    return readFileSync(path);
  }

  close(force: boolean): Promise<void> {
    return this.drive.close(force);
  }

  get hasLease(): boolean {
    return this.#hasLease;
  }
}
