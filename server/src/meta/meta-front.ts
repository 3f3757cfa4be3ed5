// MetaFront: the asynchronous face of a MetaCore, wherever that runs. Reads pass at once. A batch holds the write turn
// from `plan` until `commit` or `rollback`; other writes, and the next `plan`, wait for it. So whoever has a batch open
// must not wait for another write.
import { RunnelError } from "@runnel/shared/model";
import type { Change, Entry, NodeState, Notice, NumberSpan, Recipe, VersionId, Xattr } from "@runnel/shared";
import type { SyncMetaStore } from "./meta-core.ts";
import type * as store from "./meta-store.ts";

/** Calls a method of the core, in the order of the calls. */
export type CoreCall = <Name extends keyof SyncMetaStore>(
  method: Name,
  ...args: Parameters<SyncMetaStore[Name]>
) => Promise<ReturnType<SyncMetaStore[Name]>>;

export class MetaFront implements store.MetaStore {
  readonly #core: CoreCall;
  #turn: Promise<void> = Promise.resolve();
  #endBatch: (() => void) | undefined = undefined;
  #isClosed = false;

  constructor(core: CoreCall) {
    this.#core = core;
  }

  readonly #call: CoreCall = (method, ...args) => {
    if (this.#isClosed) {
      return Promise.reject(new RunnelError("Unavailable", "use the meta store", "The meta store is closed."));
    }
    return this.#core(method, ...args);
  };

  /** Resolves when no other write is under way; the function ends the turn. */
  async #takeTurn(): Promise<() => void> {
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    await before;
    return resolve;
  }

  readonly #change: CoreCall = async (method, ...args) => {
    const end = await this.#takeTurn();
    return await this.#call(method, ...args).finally(end);
  };

  async plan(batch: readonly store.PlanRequest[]): Promise<store.Planned[]> {
    const end = await this.#takeTurn();
    try {
      const planned = await this.#call("plan", batch);
      this.#endBatch = end;
      return planned;
    } catch (error) {
      end();
      throw error;
    }
  }

  #takeBatch(): () => void {
    const end = this.#endBatch;
    if (end === undefined) throw new Error("No batch is open.");
    this.#endBatch = undefined;
    return end;
  }

  async commit(...args: Parameters<store.MetaStore["commit"]>): Promise<void> {
    const end = this.#takeBatch();
    await this.#call("commit", ...args).finally(end);
  }

  async rollback(): Promise<void> {
    const end = this.#takeBatch();
    await this.#call("rollback").finally(end);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#endBatch !== undefined) await this.rollback();
    const closing = this.#call("close");
    this.#isClosed = true;
    await closing;
  }

  checkpoint = (): Promise<void> => this.#change("checkpoint");
  setPlace = (version: VersionId, place: store.VersionPlace): Promise<void> => this.#change("setPlace", version, place);
  forgetVersion = (version: VersionId): Promise<void> => this.#change("forgetVersion", version);
  forgetChanges = (upToSeq: number): Promise<void> => this.#change("forgetChanges", upToSeq);
  forgetNameless = (after: number, limit: number): Promise<number | undefined> =>
    this.#change("forgetNameless", after, limit);
  forgetOldResults = (kept: number): Promise<void> => this.#change("forgetOldResults", kept);
  allocateNodes = (count: number, owner?: store.NodeOwner): Promise<{ first: number; count: number }> =>
    this.#change("allocateNodes", count, owner);
  forgetNodeOwner = (device: string): Promise<void> => this.#change("forgetNodeOwner", device);
  forgetResults = (instance: string, upToN: number, but: readonly NumberSpan[]): Promise<void> =>
    this.#change("forgetResults", instance, upToN, but);
  setAttached = (instance: string, termMs: number): Promise<void> => this.#change("setAttached", instance, termMs);
  setWriteLease = (instance: string): Promise<void> => this.#change("setWriteLease", instance);
  writeLease = (): Promise<string> => this.#call("writeLease");
  recordApplied = (...args: Parameters<store.MetaStore["recordApplied"]>): Promise<void> =>
    this.#change("recordApplied", ...args);
  passed = (): Promise<store.Passed> => this.#call("passed");
  note = (notices: readonly Notice[]): Promise<void> => this.#change("note", notices);
  forgetNotices = (notices: readonly Notice[]): Promise<void> => this.#change("forgetNotices", notices);

  facts = (): Promise<store.VolumeFacts> => this.#call("facts");
  node = (node: number): Promise<NodeState | undefined> => this.#call("node", node);
  nodes = (nodes: readonly number[]): Promise<(NodeState | undefined)[]> => this.#call("nodes", nodes);
  lookup = (folder: number, name: string): Promise<NodeState | undefined> => this.#call("lookup", folder, name);
  list = (folder: number, after: string, limit: number): Promise<Entry[]> => this.#call("list", folder, after, limit);
  xattrs = (node: number): Promise<Xattr[]> => this.#call("xattrs", node);
  namesOf = (node: number): Promise<{ folder: number; name: string }[]> => this.#call("namesOf", node);
  lastName = (node: number): Promise<{ folder: number; name: string } | undefined> => this.#call("lastName", node);
  changesAfter = (seq: number, limit: number): Promise<Change[]> => this.#call("changesAfter", seq, limit);
  recipe = (version: VersionId): Promise<Recipe | undefined> => this.#call("recipe", version);
  version = (version: VersionId): Promise<store.VersionRow | undefined> => this.#call("version", version);
  versionsOf = (node: number): Promise<store.VersionRow[]> => this.#call("versionsOf", node);
  withoutRecipe = (limit: number, after = 0): Promise<VersionId[]> => this.#call("withoutRecipe", limit, after);
  result = (instance: string, n: number): ReturnType<store.MetaStore["result"]> => this.#call("result", instance, n);
  attached = (): Promise<store.AttachedInstance[]> => this.#call("attached");
  diskRows = (folder: number): Promise<store.DiskRow[]> => this.#call("diskRows", folder);
  diskRow = (folder: number, name: string): Promise<store.DiskRow | undefined> => this.#call("diskRow", folder, name);
  diskRowsOf: store.MetaStore["diskRowsOf"] = (names, nodes) => this.#call("diskRowsOf", names, nodes);
  diskRowsOfNode = (node: number): Promise<store.DiskRow[]> => this.#call("diskRowsOfNode", node);
  diskRowByHandle = (handle: Uint8Array): Promise<store.DiskRow | undefined> => this.#call("diskRowByHandle", handle);
  countDiskRows = (): Promise<number> => this.#call("countDiskRows");
  notices = (): Promise<Notice[]> => this.#call("notices");
  putChunks = (version: VersionId, recipe: Recipe): Promise<void> => this.#call("putChunks", version, recipe);
  findChunks = (digests: Uint8Array): ReturnType<store.MetaStore["findChunks"]> => this.#call("findChunks", digests);
  clearChunks = (): Promise<void> => this.#call("clearChunks");
}
