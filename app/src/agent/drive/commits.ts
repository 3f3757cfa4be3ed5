// Commits of contents: a dirty file of the drive becomes a version at the server, through the journal. Also sends again what a former life of
// the agent, or a link that stayed away, left unsent.
import { basename, parse } from "node:path";
import type { Drive } from "@runnel/native/drive";
import type { Clock, DiskFile, DiskRoot, Executor, NodeState, Recipe } from "@runnel/shared";
import { ROOT_NODE, RunnelError, TIMING, encodeRecipe, isRunnelError, packType } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Journal, JournalCommit } from "../journal/journal.ts";
import type { Downloads } from "../transfer/download.ts";
import type { Composition } from "../transfer/compose.ts";
import { compose, isWholeLayer } from "../transfer/compose.ts";
import type { Outgoing, References, Uploads, WriteResult } from "../transfer/upload.ts";
import { fewerReferences } from "../transfer/upload.ts";
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
      const { result, content, release } = await this.transmit(record, base);
      this.unsent.delete(node);
      if (replaced !== undefined) await journal.done(replaced.instance, replaced.n);
      drive.committed(request.id, { version: result.version });
      this.rebase(request.file, content);
      await journal.done(record.instance, n);
      await release();
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
    const base =
      state.sizeBytes === 0 ? undefined : (cache.find(version) ?? (await cache.create(version, state.sizeBytes)));
    const n = operations.begin();
    try {
      const { release } = await this.transmit(
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
      await release();
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
        problem(
          `Changes to ${record.path} could not be sent: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }

  /** Exactly once by its number; when the file has changed meanwhile, or the epoch, it is kept beside: never an overwrite in doubt. */
  private async replayOne(record: JournalCommit): Promise<void> {
    const { cache, journal, tree } = this.parts;
    const base = cache.find(
      { node: record.node, seq: record.baseVersion },
      record.baseOid.length > 0 ? record.baseOid : undefined,
    );
    let release: () => Promise<void>;
    try {
      if (record.epoch !== this.parts.epoch() || record.instance !== journal.instance)
        throw new RunnelError("Stale", "replay", "The volume was made anew.");
      const state = await tree.node(record.node).catch(() => undefined);
      const isCurrent = (): boolean => state !== undefined && state.nlink > 0 && state.version === record.baseVersion;
      ({ release } = await this.transmit(record, base, isCurrent));
    } catch (error) {
      if (!isRunnelError(error, "Stale", "NotFound")) throw error;
      release = await this.keepBeside(record, base);
    }
    await journal.done(record.instance, record.n);
    await release();
  }

  /** Sends a commit as a new file: under its own path if that is free, else beside it. */
  private async keepBeside(record: JournalCommit, base: CachedContent | undefined): Promise<() => Promise<void>> {
    const { operations, journal, problem } = this.parts;
    const { folder, name } = await this.freePlace(record.path);
    const node = await operations.newNode();
    const attributes = {
      type: packType("file"),
      mode: KEPT_MODE,
      uid: 0,
      gid: 0,
      mtimeNs: record.mtimeNs,
      rdev: 0,
      target: "",
    };
    await operations.change("make", { folder, name, node, attributes }, []);
    const n = operations.begin();
    try {
      const kept = { ...record, n, instance: journal.instance, epoch: this.parts.epoch(), node, baseVersion: 0 };
      const { release } = await this.transmit(kept, base);
      if (name !== basename(record.path))
        problem(`${record.path} was changed elsewhere while it waited to be sent; this version is kept as ${name}.`);
      return release;
    } finally {
      operations.answered(n);
    }
  }

  private async freePlace(path: string): Promise<{ folder: number; name: string }> {
    const { tree, clock } = this.parts;
    const parts = path.split("/");
    const name = parts.pop() ?? "file";
    let folder = ROOT_NODE;
    for (const part of parts) {
      const state = await tree.lookup(folder, part);
      if (state?.type !== "folder") {
        folder = ROOT_NODE;
        break;
      }
      folder = state.node;
    }
    let free = name;
    const { name: stem, ext } = parse(name);
    const when = new Date(Number(clock.wallNs() / 1_000_000n))
      .toISOString()
      .slice(0, 19)
      .replace("T", " ")
      .replaceAll(":", ".");
    for (let count = 1; (await tree.lookup(folder, free)) !== undefined; count++) {
      free = `${stem} (unsent ${when}${count > 1 ? ` ${count}` : ""})${ext}`;
    }
    return { folder, name: free };
  }

  private async keepUnsent(node: number, n: number): Promise<void> {
    const { journal, problem } = this.parts;
    const record = journal.pending().find((pending) => pending.n === n && pending.instance === journal.instance);
    if (record === undefined) return;
    this.unsent.set(node, record);
    problem(`${record.path} could not be sent; it is kept here and will be sent when the server is back.`);
  }

  /** Prepares, sends, and puts the content in the cache. */
  private async transmit(
    record: JournalCommit,
    base: CachedContent | undefined,
    mayStart?: () => boolean,
  ): Promise<{ result: WriteResult; content: CachedContent; release(): Promise<void> }> {
    const { cache, data, conflict } = this.parts;
    const prepared = await this.prepare(record, base);
    const release = async (): Promise<void> => {
      if (prepared.isComposed) await data.removeFile(prepared.fileName);
    };
    let result: WriteResult;
    try {
      result = await this.deliver(record, prepared, base, mayStart);
    } catch (error) {
      await prepared.file.close();
      await release();
      throw error;
    }
    await prepared.file.close();
    if (result.conflict) conflict(record.path, result);
    const version = { node: result.node, seq: result.version };
    const content = await cache.adopt(
      `${this.parts.journal.dataFolder}/${prepared.fileName}`,
      version,
      record.sizeBytes,
      prepared.recipe,
      prepared.oid,
    );
    return { result, content, release };
  }

  private async prepare(record: JournalCommit, base: CachedContent | undefined): Promise<Prepared> {
    const { data, executor } = this.parts;
    const isWhole = isWholeLayer({ ...record, base: undefined });
    const [layer] = record.layers;
    const fileName =
      isWhole && layer !== undefined
        ? layer.file
        : `composed-${record.instance.slice(0, 8)}-${record.n}-${++this.composed}`;
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
      const of: Composition = {
        base: from,
        baseBytes: record.baseBytes,
        sizeBytes: record.sizeBytes,
        layers: record.layers,
      };
      await compose(data, of, target);
    } finally {
      await target.close();
      await from?.close();
    }
  }

  /** Tries until committed, refused, or the patience is over. */
  private async deliver(
    record: JournalCommit,
    prepared: Prepared,
    base: CachedContent | undefined,
    mayStart: (() => boolean) | undefined,
  ): Promise<WriteResult> {
    const { uploads, operations, session, clock } = this.parts;
    const { file, recipe, oid } = prepared;
    const { sizeBytes } = record;
    let isResumed = mayStart !== undefined;
    let references: References = "copies";
    let heardMs = clock.bootMs();
    for (;;) {
      const outgoing: Outgoing = {
        file,
        recipe,
        oid,
        sizeBytes,
        base: references === "copies" ? knownBase(base) : undefined,
        references,
      };
      try {
        return await uploads.send(outgoing, {
          n: record.n,
          received: operations.received,
          node: record.node,
          base: record.baseVersion,
          mtimeNs: record.mtimeNs,
          isResumed,
          ...(mayStart === undefined ? {} : { mayStart }),
        });
      } catch (error) {
        const fewer: References | undefined = mayStart === undefined ? fewerReferences(references, error) : undefined;
        if (fewer !== undefined) references = fewer;
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
    drive.putContent({
      id,
      node: version.node,
      version: version.seq,
      path,
      sizeBytes,
      present: cache.present(content),
    });
    if (drive.rebase(file, id)) this.parts.hold(content);
  }
}

const OWN_FILE_MODE = 0o600;
const KEPT_MODE = 0o644;

function knownBase(base: CachedContent | undefined): Outgoing["base"] {
  return base?.recipe === undefined ? undefined : { version: base.version, recipe: base.recipe };
}
