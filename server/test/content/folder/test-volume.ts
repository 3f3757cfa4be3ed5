// A volume reduced to what a content store needs of one: decides with the memory meta store, keeps a log in an array,
// and can be killed or lose its power at any moment and be started again from what is left.
import type { Change, Disk, DiskRoot, ErrorKind, NewAttributes, Notice, NoticeOf } from "@runnel/shared";
import { ROOT_NODE, RunnelError, SimulatedClock, SimulatedDisk, isRunnelError } from "@runnel/shared";
import type {
  AcceptedCommit,
  ContentCallbacks,
  ContentStore,
  ResumableFile,
} from "../../../src/content/content-store.ts";
import type { FolderSettings } from "../../../src/content/folder/folder-store.ts";
import { openFolderStore } from "../../../src/content/folder/folder-store.ts";
import { appliedCommits } from "../../../src/meta/is-applied.ts";
import { MemoryMetaImage, openMemoryMetaStore } from "../../../src/meta/memory/meta-store.ts";
import type {
  ExternalOperation,
  MetaStore,
  Operation,
  OperationId,
  OperationResult,
  Planned,
  Run,
} from "../../../src/meta/meta-store.ts";
import { SUPERSEDED } from "../../../src/commit-log/queue.ts";

type LogRecord =
  | {
      kind: "commit";
      id: OperationId | undefined;
      operation: Operation | ExternalOperation;
      wallNs: bigint;
      change: Change | undefined;
      result: OperationResult;
      data: Uint8Array;
    }
  | { kind: "handle"; seq: number; handle: Uint8Array }
  | { kind: "wait"; seqs: readonly number[] };

export const FOLDER = "/srv/docs";
const EPOCH = "0123456789abcdef0123456789abcdef";

export type OpenStore = (parts: {
  disk: Disk;
  root: DiskRoot;
  meta: MetaStore;
  clock: SimulatedClock;
  callbacks: ContentCallbacks;
}) => ContentStore;

export function folderStore(settings: Partial<FolderSettings> = {}): OpenStore {
  return (parts) => openFolderStore({ ...parts, settings: { volume: "volume 1", ...settings } });
}

const CHANGES_OF_NAMES = ["rename", "link", "makeFolder", "makeSymlink", "removeFile", "removeFolder"];

/** A disk on which nothing can be put at or taken from these paths, nor in the folders that end in "/". */
export function locked(paths: readonly string[], kind: ErrorKind = "Denied"): SimulatedDisk["fault"] {
  const isLocked = (path: string): boolean =>
    paths.some((one) => path === one || (one.endsWith("/") && path.startsWith(one)));
  return (operation, path, to = "") =>
    CHANGES_OF_NAMES.includes(operation) && (isLocked(path) || isLocked(to)) ? kind : undefined;
}

export const FILE: NewAttributes = {
  type: "file",
  mode: 0o644,
  uid: 0,
  gid: 0,
  mtimeNs: 1_600_000_000_000_000_000n,
  rdev: 0,
  target: "",
};

export class TestVolume implements ContentCallbacks {
  readonly clock = new SimulatedClock();
  readonly disk: SimulatedDisk;
  readonly log: LogRecord[] = [];
  /** Seqs that were reported as applied, in order. */
  readonly appliedSeqs: number[] = [];
  readonly externals: ExternalOperation[][] = [];
  readonly removals: string[] = [];
  /** Called between a scan and what it reports. */
  beforeExternal: ((operations: readonly ExternalOperation[]) => Promise<void>) | undefined;
  /** Staged files that an earlier process left. */
  readonly resumableFiles: ResumableFile[] = [];
  isUncertain = false;
  image = new MemoryMetaImage();
  #open: OpenStore;
  #meta: MetaStore | undefined;
  #store: ContentStore | undefined;
  #root: DiskRoot | undefined;
  #other: DiskRoot | undefined;
  #life = 0;
  #turn: Promise<unknown> = Promise.resolve();
  #epochs = 0;

  constructor(seed = 1, open: OpenStore = folderStore()) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
    this.#open = open;
  }

  get store(): ContentStore {
    if (this.#store === undefined) throw new Error("The volume is not started.");
    return this.#store;
  }

  get meta(): MetaStore {
    if (this.#meta === undefined) throw new Error("The volume is not started.");
    return this.#meta;
  }

  /** The folder as another program sees it. */
  get other(): DiskRoot {
    if (this.#other === undefined) throw new Error("The volume is not started.");
    return this.#other;
  }

  /** Before the folder is first served. */
  async fillFirst(fill: (volume: TestVolume) => Promise<void>): Promise<void> {
    this.#other = await this.disk.openRoot(FOLDER, { permissions: 0o755 });
    await fill(this);
    await this.clock.advance(10_000);
  }

  async start(): Promise<void> {
    this.#life += 1;
    this.#turn = Promise.resolve();
    this.#root = await this.disk.openRoot(FOLDER, { permissions: 0o755 });
    this.#other = await this.disk.openRoot(FOLDER);
    const isNew = !this.image.tables.isCreated;
    const epoch = EPOCH.replace(/^0/, String(this.#epochs));
    this.#meta = await openMemoryMetaStore(this.image, isNew ? { create: { epoch } } : {});
    if (isNew) this.#epochs += 1;
    await this.#rollForward();
    this.#store = this.#open({
      disk: this.disk,
      root: this.#root,
      meta: this.#meta,
      clock: this.clock,
      callbacks: this.#callbacks(),
    });
    const isApplied = await appliedCommits(this.#meta);
    const commits = this.#commitsToCome(isApplied);
    const handles = new Map<number, Uint8Array>();
    for (const record of this.log)
      if (record.kind === "handle" && !isApplied(record.seq)) handles.set(record.seq, record.handle);
    await this.#store.start(commits, handles);
  }

  noticed(): void {}

  /** This life's view: what a killed server's leftover promises call is not heard. */
  #callbacks(): ContentCallbacks {
    const life = this.#life;
    const alive = (): void => {
      if (life !== this.#life) throw new RunnelError("Io", "call volume", "The server was killed.");
    };
    return {
      externalChanges: async (operations, isSuperseded) => {
        alive();
        return this.externalChanges(operations, isSuperseded);
      },
      recordIntent: async (seq, handle) => {
        alive();
        await this.recordIntent(seq, handle);
      },
      recordWaiting: async (seqs) => {
        alive();
        await this.recordWaiting(seqs);
      },
      askCommitter: () => this.askCommitter(),
      readLog: async (place, offset, length) => {
        alive();
        return this.readLog(place, offset, length);
      },
      resumable: (files) => this.resumable(files),
      noticed: () => this.noticed(),
      applied: (seq) => {
        if (life === this.#life) this.applied(seq);
      },
      uncertain: () => this.uncertain(),
      scanned: () => {
        if (life === this.#life) this.scanned();
      },
      unavailable: (reason) => this.unavailable(reason),
    };
  }

  async #rollForward(): Promise<void> {
    const { logOffset } = await this.meta.facts();
    for (const [index, record] of this.log.entries()) {
      if (index < logOffset || record.kind !== "commit") continue;
      const { id, operation, wallNs, change, result, data } = record;
      const seq = change?.seq ?? result.seq;
      await this.meta.plan([{ id, operation, wallNs, replayed: { seq, change, result } }]);
      await this.meta.commit(new Map([[0, { segment: 1, offset: index, length: data.length }]]), {
        segment: 1,
        offset: index + 1,
      });
    }
  }

  #commitsToCome(isApplied: (seq: number) => boolean): AcceptedCommit[] {
    const commits: AcceptedCommit[] = [];
    for (const [index, record] of this.log.entries()) {
      if (record.kind !== "commit" || record.change === undefined || isApplied(record.change.seq)) continue;
      const commit = accepted(index, record);
      if (commit !== undefined) commits.push(commit);
    }
    return commits;
  }

  /** Decides, logs and indexes one after another, as the commit queue does. */
  #commit(
    operations: readonly (Operation | ExternalOperation)[],
    data: Uint8Array,
    instance?: string,
  ): Promise<Planned[]> {
    const life = this.#life;
    const { meta } = this;
    const assertAlive = (): void => {
      if (life !== this.#life) throw new RunnelError("Io", "commit", "The server was killed.");
    };
    const done = this.#turn.then(async () => {
      assertAlive();
      const wallNs = this.clock.wallNs();
      const requests = operations.map((operation) => ({ id: this.#id(instance), operation, wallNs }));
      const planned = await meta.plan(requests);
      assertAlive();
      const places = new Map<number, { segment: number; offset: number; length: number }>();
      const commits: AcceptedCommit[] = [];
      for (const [index, answer] of planned.entries()) {
        const operation = operations[index];
        if (!answer.ok || answer.change === undefined || operation === undefined) continue;
        const record: LogRecord = {
          kind: "commit",
          id: requests[index]?.id,
          operation,
          wallNs,
          change: answer.change,
          result: answer.result,
          data,
        };
        places.set(index, { segment: 1, offset: this.log.length, length: data.length });
        const commit = accepted(this.log.length, record);
        this.log.push(record);
        if (commit !== undefined) commits.push(commit);
      }
      await meta.commit(places, { segment: 1, offset: this.log.length });
      assertAlive();
      for (const commit of commits) this.store.accept(commit);
      return planned;
    });
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #n = 0;

  #id(instance: string | undefined): OperationId | undefined {
    return instance === undefined ? undefined : { instance, n: this.#n++, digest: new Uint8Array(0) };
  }

  async externalChanges(
    operations: ExternalOperation[],
    isSuperseded: (operation: ExternalOperation) => boolean,
  ): Promise<Planned[]> {
    this.externals.push(operations);
    await this.beforeExternal?.(operations);
    await this.#turn;
    const due = operations.filter((operation) => !isSuperseded(operation));
    const planned = await this.#commit(due, new Uint8Array(0));
    return operations.map((operation) => planned[due.indexOf(operation)] ?? SUPERSEDED);
  }

  async recordIntent(seq: number, handle: Uint8Array): Promise<void> {
    this.log.push({ kind: "handle", seq, handle });
  }

  async recordWaiting(seqs: readonly number[]): Promise<void> {
    this.log.push({ kind: "wait", seqs });
  }

  /** Asks nobody: there is no committer who could have it. */
  async askCommitter(): Promise<void> {}

  async readLog(place: { offset: number }, offset: number, length: number): Promise<Uint8Array> {
    const record = this.log[place.offset];
    if (record?.kind !== "commit") throw new RunnelError("Gone", "read log", "No such record.");
    return record.data.slice(offset, offset + length);
  }

  applied(seq: number): void {
    this.appliedSeqs.push(seq);
  }

  uncertain(): void {
    this.isUncertain = true;
  }

  scanned(): void {
    this.isUncertain = false;
  }

  resumable(files: readonly ResumableFile[]): void {
    this.resumableFiles.push(...files);
  }

  unavailable(reason: string): void {
    this.removals.push(reason);
  }

  /** Commits an operation. @throws the planner's refusal. */
  async commit(
    operation: Operation,
    data: Uint8Array = new Uint8Array(0),
    instance = "client",
  ): Promise<OperationResult> {
    const [answer] = await this.#commit([operation], data, instance);
    if (answer?.ok !== true) throw new Error(`Refused: ${JSON.stringify(answer)}`);
    return answer.result;
  }

  async make(folder: number, name: string, attributes: Partial<NewAttributes> = {}): Promise<number> {
    const { first } = await this.meta.allocateNodes(1);
    await this.commit({ op: "make", folder, name, node: first, attributes: { ...FILE, ...attributes } });
    return first;
  }

  async write(
    node: number,
    text: string,
    more: { runs?: Run[]; temp?: string; sizeBytes?: number } = {},
  ): Promise<OperationResult> {
    const data = Buffer.from(text);
    const state = await this.meta.node(node);
    const content = {
      recipe: undefined,
      sizeBytes: more.sizeBytes ?? data.length,
      runs: more.runs ?? [{ from: "log" as const, at: 0, length: data.length }],
      temp: more.temp ?? "",
    };
    return this.commit({ op: "write", node, base: state?.version ?? 0, content, attributes: {} }, data);
  }

  async file(folder: number, name: string, text: string): Promise<number> {
    const node = await this.make(folder, name);
    await this.write(node, text);
    return node;
  }

  async remove(folder: number, name: string): Promise<OperationResult> {
    const state = await this.meta.lookup(folder, name);
    if (state === undefined) throw new Error(`There is no ${name}.`);
    return this.commit({ op: "remove", folder, name, node: state.node, isFolder: state.type === "folder" });
  }

  async rename(
    folder: number,
    name: string,
    toFolder: number,
    toName: string,
    how: "replace" | "keep" | "exchange" = "replace",
  ): Promise<OperationResult> {
    const state = await this.meta.lookup(folder, name);
    return this.commit({ op: "rename", folder, name, node: state?.node ?? 0, toFolder, toName, how });
  }

  /** Time passes until nothing is pending, probed or scanned any more. */
  async settle(ms = 6000): Promise<void> {
    await this.clock.advance(ms);
    const isDone = await this.clock.runUntil(
      () => this.store.status().pendingCommits === 0 && !this.store.status().isScanning,
      60_000,
    );
    if (!isDone) throw new Error(`Not settled: ${JSON.stringify(this.store.status())}`);
    await this.clock.advance(ms);
  }

  /** The notices of a kind. */
  async notices<Kind extends Notice["kind"]>(kind: Kind): Promise<NoticeOf<Kind>[]> {
    return (await this.store.notices()).filter((notice): notice is NoticeOf<Kind> => notice.kind === kind);
  }

  async readVersion(node: number, seq: number): Promise<string> {
    const opened = await this.store.open({ node, seq });
    try {
      return Buffer.from(await opened.read(0, opened.sizeBytes)).toString();
    } finally {
      await opened.close();
    }
  }

  /** The process is gone; what it told the kernel stays. */
  kill(): void {
    this.#life += 1;
    this.disk.fault = () => "Io";
    const { store } = this;
    // The promises end in errors that nobody waits for.
    void store.close().catch(() => undefined);
  }

  /** The machine is gone: the disk keeps what was synced, and by chance more; the index keeps what was checkpointed. */
  cutPower(): void {
    this.kill();
    this.disk.crash();
    this.image.cutPower();
  }

  /** The database and the log are gone; the folder is not. */
  async loseMeta(): Promise<void> {
    await this.store.close();
    this.image = new MemoryMetaImage();
    this.log.length = 0;
  }

  /** `fault`: what its disk does from the beginning. */
  async restart(fault?: SimulatedDisk["fault"]): Promise<void> {
    await this.clock.advance(0);
    this.disk.fault = fault;
    await this.start();
  }

  /** The committed tree: path → type and content. */
  async tree(): Promise<Map<string, string>> {
    const tree = new Map<string, string>();
    const walk = async (folder: number, path: string): Promise<void> => {
      for (const { name, state } of await this.meta.list(folder, "", 1_000_000)) {
        const at = path === "" ? name : `${path}/${name}`;
        tree.set(at, await this.#shown(state.type, () => this.readVersion(state.node, state.version), state.target));
        if (state.type === "folder") await walk(state.node, at);
      }
    };
    await walk(ROOT_NODE, "");
    return tree;
  }

  async #shown(type: string, read: () => Promise<string>, target: string): Promise<string> {
    if (type !== "file") return `${type} ${target}`.trim();
    try {
      return `file ${await read()}`;
    } catch (error) {
      return `file ? ${isRunnelError(error) ? error.kind : String(error)}`;
    }
  }

  /** The served folder, as the tree is shown. */
  async files(): Promise<Map<string, string>> {
    const files = new Map<string, string>();
    const walk = async (path: string): Promise<void> => {
      const entries: { name: string; type: string }[] = [];
      await this.other.list(path, (batch) => {
        for (const { name, stat } of batch)
          if (name !== undefined && name !== ".runnel-store") entries.push({ name, type: stat.type });
      });
      for (const { name, type } of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const at = path === "" ? name : `${path}/${name}`;
        const target = type === "symlink" ? await this.other.readSymlink(at) : "";
        files.set(at, await this.#shown(type, () => this.readFile(at), target));
        if (type === "folder") await walk(at);
      }
    };
    await walk("");
    return files;
  }

  async readFile(path: string): Promise<string> {
    const file = await this.other.open(path, "read");
    try {
      return Buffer.from(await file.read(0, (await file.stat()).sizeBytes)).toString();
    } finally {
      await file.close();
    }
  }

  /** Another program writes a file in place, or makes it. */
  async writeFile(path: string, text: string, isSynced = false): Promise<void> {
    const file = await this.other.open(path, "create", 0o644);
    try {
      await file.truncate(0);
      await file.write(0, Buffer.from(text));
      if (isSynced) await file.sync();
    } finally {
      await file.close();
    }
  }
}

function accepted(index: number, record: LogRecord): AcceptedCommit | undefined {
  if (record.kind !== "commit" || record.change === undefined) return undefined;
  const { id, operation, change, result, data } = record;
  if (operation.op.startsWith("external") || operation.op === "setRecipe") return undefined;
  const place = { segment: 1, offset: index, length: data.length };
  return {
    seq: change.seq,
    operation: operation as Operation,
    result,
    change,
    instance: id?.instance ?? "",
    data: data.length > 0 ? place : undefined,
  };
}

/** Opens a volume over an empty folder, and lets its first scan end. */
export async function startedVolume(settings: Partial<FolderSettings> = {}, seed = 1): Promise<TestVolume> {
  const volume = new TestVolume(seed, folderStore(settings));
  await volume.start();
  await volume.settle();
  return volume;
}

export async function namesIn(root: DiskRoot, path: string): Promise<string[]> {
  const names: string[] = [];
  await root.list(path, (entries) => {
    for (const { name } of entries) if (name !== undefined) names.push(name);
  });
  return names.sort();
}
