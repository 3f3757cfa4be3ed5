// Commits and what could not be sent, over a server that answers as a test says; journal and numbers are the product's
// own.
import { ROOT_NODE, RunnelError, type NodeState } from "@runnel/shared";
import type { Save } from "../../../src/agent/changes/own-change.ts";
import { OwnChanges } from "../../../src/agent/changes/own-changes.ts";
import type { CachedContent } from "../../../src/agent/cache/cache.ts";
import { Bases } from "../../../src/agent/drive/saving/bases.ts";
import { Commits } from "../../../src/agent/drive/saving/commits.ts";
import { ConflictCopies } from "../../../src/agent/drive/saving/conflict-copies.ts";
import { Lineages } from "../../../src/agent/drive/saving/lineages.ts";
import { LayerJoins } from "../../../src/agent/drive/saving/join-layers.ts";
import type { RequestOfOp } from "../../../src/agent/drive/request-of-op.ts";
import { Saves } from "../../../src/agent/drive/saving/saves.ts";
import { UnsentSaves } from "../../../src/agent/drive/saving/unsent.ts";
import type { Journal, JournalCommit } from "../../../src/agent/journal/journal.ts";
import type { SentContent } from "../../../src/agent/transfer/send-content.ts";
import { Operations } from "../../../src/agent/wire/operations.ts";
import { EPOCH, JournalMachine, dataOf } from "../../journal/journal-machine.ts";
import { makeState } from "../../replica/model-tree.ts";
import { nothingPaused } from "../../pauses/nothing-paused.ts";

export const NODE = 5;
export const VERSION = 7;
const COPY_NODE = 600;

/** A thing that the server was asked. */
export type Asked =
  | { is: "write"; n: number; node: number; base: number; layers: number }
  | { is: "make"; n: number; folder: number; node: number; name: string };

export class SaveRig {
  readonly machine: JournalMachine;
  journal!: Journal;
  saves!: Saves;
  unsent!: UnsentSaves;
  commits!: Commits;
  changes!: OwnChanges;
  epoch = EPOCH;
  /** States as the server says them, by node. */
  readonly states = new Map<number, NodeState>([
    [ROOT_NODE, { ...makeState(ROOT_NODE, "folder", 1), nlink: 1 }],
    [NODE, { ...makeState(NODE, "file", VERSION), version: VERSION }],
  ]);
  readonly names = new Map<string, number>();
  /** The server's ids of what this client made under others. */
  readonly reals = new Map<number, number>();
  path = "file.txt";
  readonly asked: Asked[] = [];
  readonly problems: string[] = [];
  readonly conflicts: string[] = [];
  readonly committed: number[] = [];
  /** Requests other than commits that were answered. */
  readonly done: number[] = [];
  /** Programs are answered before the server, and what they save waits here for its turn. */
  isAsync = false;
  /** The drive reads an open file from the cache when it is told that the server has its content. */
  isRebased = false;
  /** Calls by which it was told that an open file's content has been sent. */
  readonly told: unknown[][] = [];
  readonly queued: Save[] = [];
  /** Overlays that an open file had each before some of them were joined in a file, in its order: what it has open. */
  overlays: string[] = [];
  /** Files that programs read from as they are. */
  readonly inUse = new Set<string>();
  /** The version that a file has for its programs by its last commit. */
  version = VERSION;
  /** Contents whose files' names were given up, and how many contents, and copies, the journal had then. */
  readonly dropped: { save: Save; pending: number; copies: number }[] = [];
  /** Outcomes of the next requests; the last is repeated. */
  writes: (() => Promise<void>)[] = [async () => undefined];
  makes: (() => Promise<void>)[] = [async () => undefined];
  /** Promise that taking a committed content into the cache waits for. */
  keeping: Promise<void> = Promise.resolve();
  /** A make of the file that is on its way, for programs that wait for the server. */
  making: Promise<void> | undefined;
  /** Records what a program has been answered already. */
  recordAtLast = (record: () => Promise<void>): Promise<void> => record();
  private layers = 0;
  private syncedBytes = 0;
  private seq = VERSION;
  private readonly executed = new Map<number, { node: number; version: number }>();

  constructor(machine = new JournalMachine()) {
    this.machine = machine;
  }

  async open(): Promise<this> {
    this.journal = await this.machine.open();
    const { clock } = this.machine;
    const journal = this.journal;
    const session = {
      isResponsive: true,
      isConnected: true,
      nodes: { newNode: async () => COPY_NODE + this.asked.length },
      withRequestTimeout: <T>(answer: Promise<T>): Promise<T> => answer,
      call: async (_name: string, body: Omit<Asked & { is: "make" }, "is">) => this.make(body),
      ask: async () => {
        throw new RunnelError("Gone", "getHash", "It is gone.");
      },
    };
    this.changes = new OwnChanges(journal);
    const { changes } = this;
    const operations = new Operations({ session: session as never, changes, clock, answered: () => undefined });
    const epoch = (): string => this.epoch;
    const cache = { find: () => undefined, byId: () => undefined, byOid: () => undefined };
    const tree = {
      real: (node: number) => this.reals.get(node) ?? node,
      known: (node: number) => this.states.get(node),
      asked: async (node: number) => this.states.get(node),
      lookup: async (_folder: number, name: string) => this.states.get(this.names.get(name) ?? 0),
      pathOf: () => this.path,
      refusalOf: () => undefined,
      makingOf: () => this.making && { made: { settled: this.making } },
      isNamed: (node: number) => (this.states.get(node)?.nlink ?? 0) > 0,
    };
    this.saves = new Saves(changes, journal.pending(), { ...tree, isQueued: () => false });
    const { saves } = this;
    const bases = new Bases({ cache: cache as never, session: session as never, epoch });
    const log = (sentence: string): void => void this.problems.push(sentence);
    const sender = { send: (record: JournalCommit, _base: unknown, how = {}) => this.write(record, how) };
    const pauses = nothingPaused;
    const shared = {
      changes,
      pauses,
      whyHeld: () => undefined,
      operations,
      session,
      cache,
      journal,
      sender,
      saves,
      bases,
      clock,
      epoch,
      tree,
      log,
    };
    const notified = {
      conflict: (path: string) => void this.conflicts.push(path),
      problem: log,
      unsaved: () => undefined,
    };
    const contents = { changed: () => undefined, shown: () => undefined, clean: () => undefined, release: () => true };
    const copies = new ConflictCopies({
      tree: tree as never,
      changes,
      operations,
      journal,
      clock,
      epoch,
      saysConflicts: () => true,
    });
    this.unsent = new UnsentSaves({
      ...shared,
      ...notified,
      copies,
      contents,
      isQueued: () => false,
      takeSent: (save: Save, sent: SentContent) => this.commits.takeSentLater(save, sent),
      dropNames: async (save: Save) => {
        const pending = journal.pending();
        const planned = pending.filter(({ copy }) => copy !== undefined);
        this.dropped.push({ save, pending: pending.length, copies: planned.length });
      },
    } as unknown as ConstructorParameters<typeof UnsentSaves>[0]);
    const saved = (...call: unknown[]): boolean => {
      this.told.push(call);
      return true;
    };
    const committed = (id: number, { version }: { version: number }): void => {
      this.committed.push(id);
      this.version = version;
    };
    const joinLayers = (_file: number, overlays: string[], path: string): boolean => {
      const at = this.overlays.indexOf(overlays[0] ?? "");
      if (this.overlays.slice(at, at + overlays.length).join() !== overlays.join()) return false;
      this.overlays.splice(at, overlays.length, path);
      return true;
    };
    const done = (id: number): void => void this.done.push(id);
    const drive = { tookIn: () => false, committed, done, rebase: () => this.isRebased, saved, joinLayers };
    const data = await this.machine.disk.openRoot("/state/journal/data");
    const filesInUse = async (): Promise<Set<string>> => this.inUse;
    const joins = new LayerJoins({ drive, journal, data, filesInUse, log });
    const given = { give: () => undefined, rebased: () => undefined, holdsOf: () => 0, release: () => false };
    this.commits = new Commits({
      ...shared,
      lineages: new Lineages(shared as never),
      ...notified,
      drive,
      joins,
      unsent: this.unsent,
      contents: given,
      saved: () => undefined,
      likelyBases: { of: () => [] },
      writeBack: {
        isOn: this.isAsync,
        mayBegin: () => false,
        begins: async () => this.isAsync,
        enter: () => (this.isAsync ? { [Symbol.dispose]: () => undefined } : undefined),
        answers: () => ({ [Symbol.dispose]: () => undefined }),
        recordings: {
          untilDone: (record: () => Promise<void>) => this.recordAtLast(record),
          done: async () => undefined,
        },
        add: (save: Save) => void this.queued.push(save),
        outbox: { pump: () => undefined, replaced: () => undefined },
      },
    } as unknown as ConstructorParameters<typeof Commits>[0]);
    return this;
  }

  /** Sends what waits in its turn. */
  async sendInTurn(save: Save, isCertain = true): Promise<void> {
    const turn = { after: [], comes: Promise.resolve(), opened: () => undefined };
    await this.unsent.sendInTurn(save, { making: undefined, isCertain, turn });
  }

  /** The agent ends, killed, and another one begins. */
  async again(): Promise<this> {
    await this.journal.close();
    return this.open();
  }

  /** A program closes what it wrote: all of the file. */
  async close(file: number, base = {}): Promise<string> {
    return this.commits.commit(await this.closing(file, base)).then(
      () => "saved",
      (error: RunnelError) => error.kind,
    );
  }

  /** Returns what the drive says of that. */
  async closing(
    file: number,
    { baseVersion = VERSION, baseBytes = 0, id = file } = {},
  ): Promise<RequestOfOp<"commit">> {
    const n = this.machine.clock.wallNs();
    const name = `overlay-${file}-${this.asked.length}`;
    await this.machine.writeData(name, dataOf(file));
    const request = {
      op: "commit",
      id,
      file,
      node: NODE,
      baseVersion,
      baseBytes,
      baseContent: 0,
      sizeBytes: 100,
      mtimeNs: n,
      ctimeNs: n,
      layers: [{ path: `/data/${name}`, extents: [{ offset: 0, length: 100 }] }],
    };
    return request as unknown as RequestOfOp<"commit">;
  }

  /** A program writes into an open file, and has it saved to the disk. Returns the save that waits then. */
  async fsync(file: number, offset: number, bytes: Uint8Array, sizeBytes: number): Promise<Save> {
    const name = `layer-${++this.layers}`;
    await this.machine.writeData(name, bytes, offset);
    const path = `${this.journal.dataFolder}/${name}`;
    const nowNs = this.machine.clock.wallNs();
    const request = {
      op: "commit",
      reason: "fsync",
      id: this.layers,
      file,
      node: NODE,
      baseVersion: this.version,
      baseBytes: this.syncedBytes,
      baseContent: 0,
      sizeBytes,
      mtimeNs: nowNs,
      ctimeNs: nowNs,
      layers: [{ path, extents: [{ offset, length: bytes.length }] }],
    };
    await this.commits.commit(request as unknown as RequestOfOp<"commit">);
    this.overlays.push(path);
    this.syncedBytes = sizeBytes;
    return this.queued.at(-1) as Save;
  }

  refuse(kind: ConstructorParameters<typeof RunnelError>[0]): () => Promise<void> {
    return async () => {
      throw new RunnelError(kind, "write", "The server refuses.");
    };
  }

  private async make({ n, folder, node, name }: Omit<Asked & { is: "make" }, "is">): Promise<object> {
    this.asked.push({ is: "make", n, folder, node, name });
    await next(this.makes)();
    const done = this.executed.get(n) ?? { node, version: 0 };
    this.executed.set(n, done);
    this.names.set(name, done.node);
    if (!this.states.has(done.node)) this.states.set(done.node, makeState(done.node, "file", ++this.seq));
    return { ...done, seq: this.seq, conflict: false };
  }

  private async write(record: JournalCommit, { mayStart }: { mayStart?: () => boolean }): Promise<SentContent> {
    const { n, node, baseVersion: base, layers } = record;
    this.asked.push({ is: "write", n, node, base, layers: layers.length });
    const outcome = next(this.writes);
    let done = this.executed.get(n);
    if (done === undefined) {
      if (mayStart?.() === false) throw new RunnelError("Stale", "write", "It was changed.");
      await outcome();
      done = { node, version: ++this.seq };
      this.executed.set(n, done);
      this.states.set(node, { ...makeState(node, "file", this.seq), version: this.seq });
    }
    const keep = async (): Promise<CachedContent> => {
      await this.keeping;
      return { version: { node, seq: done.version } } as CachedContent;
    };
    return { result: { ...done, seq: done.version, conflict: false }, keep, release: async () => undefined };
  }
}

function next<T>(queue: T[]): T {
  const [first] = queue.length > 1 ? queue.splice(0, 1) : queue;
  if (first === undefined) throw new Error("Nothing is said of what the server answers.");
  return first;
}
