// Commits of contents: a dirty file of the drive becomes a version at the server, through the journal.
import { basename } from "node:path";
import type { Drive } from "@runnel/native/drive";
import type { Clock, NodeState, VersionId } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Journal, JournalCommit } from "../journal/journal.ts";
import type { BaseUsers, Sender, Sent } from "../transfer/send-content.ts";
import type { Making, Operations } from "../wire/operations.ts";
import type { Contents } from "./contents.ts";
import type { LikelyBases } from "./likely-bases.ts";
import type { RequestOfOp } from "./names.ts";
import { fullHere } from "../room.ts";
import type { Tree } from "./tree.ts";
import type { Unsent } from "./unsent.ts";

export interface CommitsParts {
  drive: Drive;
  tree: Tree;
  operations: Operations;
  cache: Cache;
  journal: Journal;
  sender: Sender;
  unsent: Unsent;
  clock: Clock;
  epoch(): string;
  contents: Contents;
  likelyBases: Pick<LikelyBases, "of">;
  /** The content that a save made is in the cache. */
  saved(version: VersionId, sizeBytes: number): void;
  /** A commit met another one: both are kept. */
  conflict(path: string, node: number): void;
  log(message: string, error: unknown): void;
}

const NO_OID = new Uint8Array(0);

export class Commits {
  private readonly parts: CommitsParts;
  /** Nodes whose own commit is under way: their feed items are no news for this kernel. */
  private readonly ownNodes = new Set<number>();
  private readonly settling = new Map<number, Promise<void>>();
  /** By open file, layers of a save that could not be recorded. */
  private readonly unrecorded = new Map<number, string[]>();
  /** By open file whose node lost its name elsewhere: the node that the server keeps its content under, beside. */
  private readonly keptBeside = new Map<number, number>();
  private running = 0;
  private idleWaiters: (() => void)[] = [];

  constructor(parts: CommitsParts) {
    this.parts = parts;
  }

  isOwnNode(node: number): boolean {
    return this.ownNodes.has(node);
  }

  /** Resolves when the content of a node's last commit is in the cache: whoever opens the node finds it there. */
  async settled(node: number): Promise<void> {
    await this.settling.get(node);
  }

  /** Resolves when no commit is under way. */
  async idle(): Promise<void> {
    if (this.running === 0) return;
    await new Promise<void>((resolve) => this.idleWaiters.push(resolve));
  }

  async commit(request: RequestOfOp<"commit">): Promise<void> {
    const node = this.keptBeside.get(request.file) ?? this.parts.tree.real(request.node);
    this.running++;
    this.ownNodes.add(node);
    try {
      // The content that the last commit made is this one's base.
      await this.settled(node);
      await this.save(request, node);
    } finally {
      this.ownNodes.delete(node);
      this.running--;
      if (this.running === 0) for (const wake of this.idleWaiters.splice(0)) wake();
    }
  }

  private async save(request: RequestOfOp<"commit">, node: number): Promise<void> {
    const { tree, operations, journal, drive, sender, unsent, likelyBases } = this.parts;
    const n = operations.begin();
    let record: JournalCommit | undefined;
    try {
      const known = this.knownBase(request, node);
      record = await this.record(request, node, n, known);
      const guesses = known === undefined && request.baseBytes === 0 ? likelyBases.of({ ...request, node }) : [];
      let sent = await this.sendOver(record, known, { making: tree.makingOf(node), guesses });
      if (sent === undefined) {
        record = { ...record, node: tree.real(node) };
        await journal.put(record, false);
        sent = await sender.send(record, undefined);
      }
      operations.answered(n);
      const settling = this.settle(request.file, record, sent);
      const now = sent.result.node;
      if (now !== node) this.keptBeside.set(request.file, now);
      for (const each of [node, now]) this.settling.set(each, settling);
      drive.committed(request.id, { version: sent.result.version });
      if (sent.result.conflict) this.parts.conflict(record.path, sent.result.node);
      await unsent.overtaken(node);
      await settling;
      for (const each of [node, now]) if (this.settling.get(each) === settling) this.settling.delete(each);
    } catch (error) {
      const refusal = tree.refusalOf(node);
      // The program is told; the bytes wait, whatever the reason, until a later commit of the file takes them along or they can be sent.
      if (record !== undefined && refusal === undefined) await unsent.keep(record, error);
      else {
        this.unrecorded.set(
          request.file,
          request.layers.map(({ path }) => basename(path)),
        );
        if (record !== undefined) await journal.done(record.instance, record.n);
      }
      throw refusal ?? error;
    } finally {
      operations.answered(n);
    }
  }

  /** Over the version that was edited. undefined as `unlessBound`. */
  private async sendOver(
    record: JournalCommit,
    known: CachedContent | undefined,
    how: { making: Making | undefined; guesses: readonly CachedContent[] },
  ): Promise<Sent | undefined> {
    const base = await this.parts.unsent.holdBase(record, known);
    return this.unlessBound(record, how.making, this.sendHeld(record, base, how));
  }

  /** What is sent holds the base from here on, in place of the caller. */
  private async sendHeld(
    record: JournalCommit,
    base: CachedContent | undefined,
    how: { making?: Making | undefined; guesses?: readonly CachedContent[] } = {},
  ): Promise<Sent> {
    const { cache, sender } = this.parts;
    try {
      return await sender.send(record, base, how);
    } finally {
      if (base !== undefined) cache.release(base);
    }
  }

  /** undefined: what should have made the file met another one under its name, whose content this is to become, by the conflict rule. */
  private async unlessBound(
    record: JournalCommit,
    making: Making | undefined,
    sending: Promise<Sent>,
  ): Promise<Sent | undefined> {
    try {
      return await sending;
    } catch (error) {
      await making?.settled;
      if (making === undefined || this.parts.tree.real(record.node) === record.node) throw error;
      return undefined;
    }
  }

  /** @throws NoSpace when the journal has no room for it; and what making the file was refused with. */
  private async record(
    request: RequestOfOp<"commit">,
    node: number,
    n: number,
    base: CachedContent | undefined,
  ): Promise<JournalCommit> {
    const { tree, journal } = this.parts;
    const refusal = tree.refusalOf(node);
    if (refusal !== undefined) throw refusal;
    const record: JournalCommit = {
      n,
      instance: journal.instance,
      epoch: this.parts.epoch(),
      node,
      path: tree.pathOf(request.node),
      baseVersion: request.baseVersion,
      baseOid: base?.oid ?? NO_OID,
      baseBytes: request.baseBytes,
      sizeBytes: request.sizeBytes,
      mtimeNs: request.mtimeNs,
      ctimeNs: request.ctimeNs,
      layers: request.layers.map(({ path, extents }) => ({ file: basename(path), extents })),
      baseContent: request.baseContent,
    };
    try {
      await journal.put(record, false);
    } catch (error) {
      if (!isRunnelError(error, "NoSpace")) throw error;
      throw fullHere("record a save", journal.dataFolder, error);
    }
    return record;
  }

  /** The drive lets go of a file: what it handed over and the journal never took is nobody's. */
  async closed(file: number): Promise<void> {
    const files = this.unrecorded.get(file);
    this.unrecorded.delete(file);
    this.keptBeside.delete(file);
    if (files !== undefined) await this.parts.journal.discard(files);
  }

  /** The cached content of the version that was edited. */
  private knownBase(request: RequestOfOp<"commit">, node: number): CachedContent | undefined {
    const { cache } = this.parts;
    const found = cache.find({ node, seq: request.baseVersion });
    if (found !== undefined || request.baseBytes === 0) return found;
    const held = cache.byId(request.baseContent);
    return held?.version.seq === request.baseVersion ? held : undefined;
  }

  /** The program has its answer: the content goes to the cache, the drive reads it from there, the journal lets go of the layers. */
  private async settle(file: number, record: JournalCommit, sent: Sent): Promise<void> {
    const { contents, drive, journal } = this.parts;
    // After `committed`: the drive rebases a file onto a version that it has.
    await Promise.resolve();
    try {
      if (record.sizeBytes > 0) {
        const content = await sent.keep(this.usersOf(file, sent));
        this.parts.saved(content.version, record.sizeBytes);
        contents.give(content);
        if (drive.rebase(file, content.id)) contents.rebased(content);
      }
    } catch (error) {
      // It is committed: only what should make the next read cheap is missing. A program that has the file open reads on from its own layers.
      this.parts.log("A committed content could not be kept in the cache.", error);
    }
    try {
      await journal.done(record.instance, record.n);
    } catch (error) {
      // The journal is settled by its number at the next start.
      this.parts.log("A save that is done could not be ended in the journal.", error);
    } finally {
      await sent.release();
    }
  }

  private usersOf(file: number, { result }: Sent): BaseUsers {
    const { contents } = this.parts;
    return {
      holdsOf: (content) => contents.holdsOf(content),
      letGo: (content) => contents.letGo(content, result.version, file),
    };
  }

  /** A file nobody has open is cut or extended: a commit over its current version. */
  async truncate(state: NodeState, sizeBytes: number): Promise<void> {
    const { cache, operations, journal, clock, tree } = this.parts;
    operations.mustBeOnline("truncate");
    await this.settled(state.node);
    const version = { node: state.node, seq: state.version };
    const path = tree.pathOf(state.node);
    const base = state.sizeBytes === 0 ? undefined : await cache.create(version, state.sizeBytes);
    const n = operations.begin();
    const nowNs = clock.wallNs();
    try {
      const sent = await this.sendHeld(
        {
          n,
          instance: journal.instance,
          epoch: this.parts.epoch(),
          node: state.node,
          path,
          baseVersion: state.version,
          baseOid: base?.oid ?? NO_OID,
          baseBytes: Math.min(state.sizeBytes, sizeBytes),
          sizeBytes,
          mtimeNs: nowNs,
          ctimeNs: nowNs,
          layers: [],
          baseContent: base?.id ?? 0,
        },
        base,
      );
      try {
        if (sizeBytes > 0) await sent.keep(this.usersOf(0, sent));
      } finally {
        await sent.release();
      }
    } finally {
      operations.answered(n);
    }
  }
}
