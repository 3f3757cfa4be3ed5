// Commits of contents: a dirty file of the drive becomes a version at the server, through the journal. Also sends again what a former life of
// the agent, or a link that stayed away, left unsent.
import { basename } from "node:path";
import type { Drive } from "@runnel/native/drive";
import type { Clock, DiskFile, DiskRoot, Executor, NodeState, Recipe } from "@runnel/shared";
import { RunnelError, TIMING, encodeRecipe, isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Journal, JournalCommit } from "../journal/journal.ts";
import type { Downloads } from "../transfer/download.ts";
import type { Composition } from "../transfer/compose.ts";
import { compose, isWholeLayer } from "../transfer/compose.ts";
import type { Outgoing, Uploads, WriteResult } from "../transfer/upload.ts";
import { isMendedByData } from "../transfer/upload.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import type { RequestOfOp } from "./names.ts";
import type { Tree } from "./tree.ts";

export interface CommitsParts {
  drive: Drive;
  tree: Tree;
  operations: Operations;
  session: Session;
  cache: Cache;
  journal: Journal;
  data: DiskRoot;
  downloads: Downloads;
  uploads: Uploads;
  executor: Executor;
  clock: Clock;
  epoch(): string;
  /** The content is in use by the drive: not to be evicted. */
  hold(content: CachedContent): void;
  /** A commit met another one: both are kept. */
  conflict(path: string, result: WriteResult): void;
  problem(sentence: string): void;
}

/** A content in one file, ready to be sent. */
interface Prepared {
  fileName: string;
  file: DiskFile;
  recipe: Recipe;
  oid: Uint8Array;
  /** The file was made by composing and belongs to nobody else. */
  isComposed: boolean;
}

export class Commits {
  private readonly parts: CommitsParts;
  /** Nodes whose own commit is under way: their feed items are no news for this kernel. */
  private readonly ownNodes = new Set<number>();
  /** Commits that failed with Unreachable, by node; a later commit of the node replaces them. */
  private readonly unsent = new Map<number, JournalCommit>();
  private running = 0;
  private composed = 0;
  private idleWaiters: (() => void)[] = [];

  constructor(parts: CommitsParts) {
    this.parts = parts;
  }

  isOwnNode(node: number): boolean {
    return this.ownNodes.has(node);
  }

  unsentCommits(): JournalCommit[] {
    return [...this.unsent.values()];
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    if (this.running === 0) return;
    await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  async commit(request: RequestOfOp<"commit">): Promise<void> {
    const { tree, operations, journal, drive, cache } = this.parts;
    this.running++;
    const node = tree.real(request.node);
    this.ownNodes.add(node);
    const n = operations.begin();
    try {
      const base = cache.byId(request.baseContent);
      const record: JournalCommit = {
        n,
        instance: journal.instance,
        epoch: this.parts.epoch(),
        node,
        path: tree.pathOf(request.node),
        baseVersion: request.baseVersion,
        baseOid: base?.oid ?? new Uint8Array(0),
        baseBytes: request.baseBytes,
        sizeBytes: request.sizeBytes,
        mtimeNs: request.mtimeNs,
        layers: request.layers.map(({ path, extents }) => ({ file: basename(path), extents })),
        baseContent: request.baseContent,
      };
      await journal.put(record, false);
      const replaced = this.unsent.get(node);
      const { result, content } = await this.transmit(record, base);
      this.unsent.delete(node);
      if (replaced !== undefined) await journal.done(replaced.instance, replaced.n);
      drive.committed(request.id, { version: result.version });
      this.rebase(request.file, content);
      await journal.done(record.instance, n);
    } catch (error) {
      if (isRunnelError(error, "Unreachable")) await this.keepUnsent(node, n);
      throw error;
    } finally {
      operations.answered(n);
      this.ownNodes.delete(node);
      this.running--;
      if (this.running === 0) for (const wake of this.idleWaiters.splice(0)) wake();
    }
  }

  /** A file nobody has open is cut or extended: a commit over its current version. */
  async truncate(state: NodeState, sizeBytes: number): Promise<void> {
    const { cache, operations, journal, clock, tree } = this.parts;
    if (sizeBytes === state.sizeBytes) return;
    operations.mustBeOnline("truncate");
    const version = { node: state.node, seq: state.version };
    const base = state.sizeBytes === 0 ? undefined : (cache.find(version) ?? (await cache.create(version, state.sizeBytes)));
    const n = operations.begin();
    try {
      await this.transmit(
        {
          n,
          instance: journal.instance,
          epoch: this.parts.epoch(),
          node: state.node,
          path: tree.pathOf(state.node),
          baseVersion: state.version,
          baseOid: base?.oid ?? new Uint8Array(0),
          baseBytes: Math.min(state.sizeBytes, sizeBytes),
          sizeBytes,
          mtimeNs: clock.wallNs(),
          layers: [],
          baseContent: base?.id ?? 0,
        },
        base,
      );
    } finally {
      operations.answered(n);
    }
  }

  /** Sends what the journal holds from before, oldest first. Called when attached. */
  async replay(): Promise<void> {
    const { journal, operations, session, problem } = this.parts;
    for (const record of journal.pending()) {
      if (!session.isConnected) return;
      if (operations.isOutstanding(record.n) && record.instance === journal.instance) continue;
      try {
        await this.replayOne(record);
        this.unsent.delete(record.node);
      } catch (error) {
        if (isRunnelError(error, "Unreachable")) return;
        this.unsent.set(record.node, record);
        problem(`Changes to ${record.path} could not be sent: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  private async replayOne(record: JournalCommit): Promise<void> {
    const { cache, journal, conflict } = this.parts;
    const base = cache.find({ node: record.node, seq: record.baseVersion });
    const { result } = await this.transmit(record, base, true);
    await journal.done(record.instance, record.n);
    if (result.conflict) conflict(record.path, result);
  }

  private async keepUnsent(node: number, n: number): Promise<void> {
    const { journal, problem } = this.parts;
    const record = journal.pending().find((pending) => pending.n === n && pending.instance === journal.instance);
    if (record === undefined) return;
    this.unsent.set(node, record);
    problem(`${record.path} could not be sent; it is kept here and will be sent when the server is back.`);
  }

  /** Prepares, sends, and puts the content in the cache. */
  private async transmit(record: JournalCommit, base: CachedContent | undefined, isResumed = false): Promise<{ result: WriteResult; content: CachedContent }> {
    const { cache, data, conflict } = this.parts;
    const prepared = await this.prepare(record, base);
    let result: WriteResult;
    try {
      result = await this.deliver(record, prepared, base, isResumed);
    } catch (error) {
      await prepared.file.close();
      if (prepared.isComposed) await data.removeFile(prepared.fileName);
      throw error;
    }
    await prepared.file.close();
    if (result.conflict) conflict(record.path, result);
    const version = { node: result.node, seq: result.version };
    const content = await cache.adopt(`${this.parts.journal.dataFolder}/${prepared.fileName}`, version, record.sizeBytes, prepared.recipe, prepared.oid);
    return { result, content };
  }

  private async prepare(record: JournalCommit, base: CachedContent | undefined): Promise<Prepared> {
    const { data, executor } = this.parts;
    const isWhole = isWholeLayer({ ...record, base: undefined });
    const [layer] = record.layers;
    const fileName = isWhole && layer !== undefined ? layer.file : `composed-${record.instance.slice(0, 8)}-${record.n}-${++this.composed}`;
    if (!isWhole) await this.composeFile(fileName, record, base);
    const file = await data.open(fileName, "read");
    const recipe = await executor.chunkFile(file, 0, record.sizeBytes);
    return { fileName, file, recipe, oid: await executor.digest([encodeRecipe(recipe)]), isComposed: !isWhole };
  }

  private async composeFile(fileName: string, record: JournalCommit, base: CachedContent | undefined): Promise<void> {
    const { cache, data, downloads } = this.parts;
    let from: DiskFile | undefined;
    const shown = Math.min(record.baseBytes, record.sizeBytes);
    if (shown > 0) {
      if (base === undefined) throw new RunnelError("Gone", "commit", "The version that was edited is no longer here.");
      from = await cache.openFile(await downloads.ensure(base, { offset: 0, length: shown }));
    }
    const target = await data.open(fileName, "createNew", OWN_FILE_MODE);
    try {
      const of: Composition = { base: from, baseBytes: record.baseBytes, sizeBytes: record.sizeBytes, layers: record.layers };
      await compose(data, of, target);
    } finally {
      await target.close();
      await from?.close();
    }
  }

  /** Tries until committed, refused, or the patience is over. */
  private async deliver(record: JournalCommit, prepared: Prepared, base: CachedContent | undefined, isRepeated: boolean): Promise<WriteResult> {
    const { uploads, operations, session, clock } = this.parts;
    const { file, recipe, oid } = prepared;
    const { sizeBytes } = record;
    let isResumed = isRepeated;
    let mayRefer = true;
    let heardMs = clock.bootMs();
    for (;;) {
      const outgoing: Outgoing = { file, recipe, oid, sizeBytes, base: mayRefer ? knownBase(base) : undefined, mayRefer };
      try {
        return await uploads.send(outgoing, {
          n: record.n,
          received: operations.received,
          node: record.node,
          base: record.baseVersion,
          mtimeNs: record.mtimeNs,
          isResumed,
        });
      } catch (error) {
        if (isMendedByData(error) && mayRefer) mayRefer = false;
        else if (isRunnelError(error, "Unreachable")) {
          if (session.isConnected) heardMs = clock.bootMs();
          await session.connected(Math.max(1, heardMs + TIMING.patienceMs - clock.bootMs()));
          heardMs = clock.bootMs();
          isResumed = true;
        } else throw error;
      }
    }
  }

  private rebase(file: number, content: CachedContent): void {
    const { drive, cache } = this.parts;
    const { id, path, sizeBytes, version } = content;
    drive.putContent({ id, node: version.node, version: version.seq, path, sizeBytes, present: cache.present(content) });
    if (drive.rebase(file, id)) this.parts.hold(content);
  }
}

const OWN_FILE_MODE = 0o600;

function knownBase(base: CachedContent | undefined): Outgoing["base"] {
  return base?.recipe === undefined ? undefined : { version: base.version, recipe: base.recipe };
}
