// Commits that could not be sent: kept in the journal, sent again when the server is back, each executed once. What was changed elsewhere meanwhile, or
// belongs to another epoch, is kept beside: never an overwrite in doubt.
import { basename, parse } from "node:path";
import type { Clock, Timer } from "@runnel/shared";
import type { VersionId } from "@runnel/shared";
import { RESULTS, ROOT_NODE, RunnelError, check, isRunnelError, packType } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { Journal, JournalCommit } from "../journal/journal.ts";
import type { Sender, Sent } from "../transfer/send-content.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import type { Tree } from "./tree.ts";

export interface UnsentParts {
  tree: Tree;
  operations: Operations;
  session: Session;
  cache: Cache;
  journal: Journal;
  sender: Sender;
  clock: Clock;
  epoch(): string;
  conflict(path: string, node: number): void;
  problem(sentence: string): void;
  log(message: string, error: unknown): void;
}

/** A commit that waits to be sent. */
interface Waiting {
  record: JournalCommit;
  /** Why it could not be sent; unknown of what a former life left. */
  why: string | undefined;
}

const KEPT_MODE = 0o644;
/** What a connected server refused is tried again so often: it may have room by then. */
const AGAIN_MS = 30_000;
/** Removed files remembered: a commit of one may still be under way. */
const GONE_MAX = 10_000;
/** Named one by one; more are counted. */
const NAMED_MAX = 10;

export class Unsent {
  private readonly parts: UnsentParts;
  /** By node: a later commit of the node takes the place of an earlier one. */
  private readonly waiting = new Map<number, Waiting>();
  private readonly unproven: string[];
  /** Removed by programs here. */
  private readonly gone = new Set<number>();
  private replaying: Promise<void> | undefined;
  private timer: Timer | undefined;
  private isClosed = false;

  constructor(parts: UnsentParts) {
    this.parts = parts;
    const { journal } = parts;
    for (const record of journal.pending()) this.wait({ record, why: undefined });
    parts.operations.unsettled = () => this.numbers();
    if (journal.tornBytes > 0)
      parts.problem(
        `The journal's last ${journal.tornBytes} bytes were torn and are cut: of a change that no program was told is kept.`,
      );
    this.unproven = journal
      .unproven()
      .map(
        ({ path }) =>
          `The last change to ${path} may not have survived the power cut; its bytes are kept in ${journal.dataFolder}.`,
      );
  }

  list(): JournalCommit[] {
    return [...this.waiting.values()].map(({ record }) => record);
  }

  get isEmpty(): boolean {
    return this.waiting.size === 0;
  }

  /** Of this instance's operations. */
  private *numbers(): Generator<number> {
    for (const { record } of this.waiting.values()) if (record.instance === this.parts.journal.instance) yield record.n;
  }

  /** A sentence for each that waits and says why, and for what cannot be sent at all. */
  problems(): string[] {
    const known = [...this.waiting.values()].filter(({ why }) => why !== undefined);
    const named = known
      .slice(0, NAMED_MAX)
      .map(
        ({ record, why }) =>
          `${record.path} is not saved on the server: ${why} Its last content is kept here and sent when that is possible.`,
      );
    if (known.length > NAMED_MAX) named.push(`${known.length - NAMED_MAX} more files are not saved on the server.`);
    return [...this.unproven, ...named];
  }

  /** Why the first that waits could not be sent. */
  get why(): string | undefined {
    return [...this.waiting.values()].find(({ why }) => why !== undefined)?.why;
  }

  /** A commit failed: it waits here, unless a program here has removed the file meanwhile. */
  async keep(record: JournalCommit, error: unknown): Promise<void> {
    if (this.gone.has(record.node)) {
      await this.parts.journal.done(record.instance, record.n);
      return;
    }
    this.wait({ record, why: wordsOf(error) });
    this.arm();
  }

  /** A program here has removed the file. */
  async removed(node: number): Promise<void> {
    this.gone.add(node);
    const [oldest] = this.gone;
    if (this.gone.size > GONE_MAX && oldest !== undefined) this.gone.delete(oldest);
    await this.overtaken(node);
  }

  /** A newer content of the node has been committed: what waited is part of it. */
  async overtaken(node: number): Promise<void> {
    const waiting = this.waiting.get(node);
    if (waiting === undefined) return;
    this.waiting.delete(node);
    await this.parts.journal.done(waiting.record.instance, waiting.record.n);
  }

  /** Sends what waits, oldest first. Called when attached. */
  async replay(): Promise<void> {
    this.replaying ??= this.replayAll().finally(() => {
      this.replaying = undefined;
    });
    await this.replaying;
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
  }

  private wait(waiting: Waiting): void {
    const { record } = waiting;
    const earlier = this.waiting.get(record.node)?.record;
    this.waiting.delete(record.node);
    this.waiting.set(record.node, waiting);
    if (earlier === undefined || (earlier.instance === record.instance && earlier.n === record.n)) return;
    this.parts.journal
      .done(earlier.instance, earlier.n)
      .catch((error: unknown) => this.parts.log("An overtaken save could not be ended in the journal.", error));
  }

  private arm(): void {
    this.timer?.cancel();
    if (this.isClosed || this.waiting.size === 0) return;
    this.timer = this.parts.clock.after(AGAIN_MS, () => {
      this.replay().catch((error: unknown) => this.parts.log("Unsent changes could not be sent.", error));
    });
  }

  private async replayAll(): Promise<void> {
    const { journal, operations, session } = this.parts;
    for (const waiting of Array.from(this.waiting.values())) {
      const { record } = waiting;
      if (!session.isResponsive) break;
      if (this.waiting.get(record.node) !== waiting) continue;
      if (record.instance === journal.instance && operations.isOutstanding(record.n)) continue;
      try {
        if (await journal.prove(record)) await this.replayOne(record);
        else this.damaged(record);
        if (this.waiting.get(record.node) === waiting) this.waiting.delete(record.node);
      } catch (error) {
        if (isRunnelError(error, "Unreachable")) break;
        waiting.why = wordsOf(error);
      }
    }
    this.arm();
  }

  /** Its bytes have rotted: they are never sent as what was written. */
  private damaged({ path }: JournalCommit): void {
    const { journal, log } = this.parts;
    const sentence = `Damaged on this computer's disk: the unsent change to ${path}. It is not sent; its bytes are kept in ${journal.dataFolder}.`;
    this.unproven.push(sentence);
    log(sentence, undefined);
  }

  /**
   * The version that was edited, held: release it. One lost from the cache is a new content, which is fetched as far as it is needed; undefined when the server
   * has no such version any more. @throws Unreachable
   */
  async holdBase(record: JournalCommit, known: CachedContent | undefined): Promise<CachedContent | undefined> {
    if (known !== undefined) {
      this.parts.cache.hold(known);
      return known;
    }
    if (record.baseBytes === 0 || record.epoch !== this.parts.epoch()) return undefined;
    const version = { node: record.node, seq: record.baseVersion };
    const sizeBytes = await this.sizeOf(version);
    return sizeBytes === undefined ? undefined : this.parts.cache.create(version, sizeBytes);
  }

  /** Also of one that is not current any more: the change over it may have been executed, and only its answer be lost. */
  private async sizeOf({ node, seq }: VersionId): Promise<number | undefined> {
    try {
      const answer = await this.parts.session.ask("getHash", { version: [node, seq], from: 0, count: 0 });
      return check(RESULTS.getHash, answer, "getHash").sizeBytes;
    } catch (error) {
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
  }

  /** Exactly once by its number; when the file has changed meanwhile, or the epoch, it is kept beside: never an overwrite in doubt. */
  private async replayOne(record: JournalCommit): Promise<void> {
    const { cache, journal, tree } = this.parts;
    const known = cache.find(
      { node: record.node, seq: record.baseVersion },
      record.baseOid.length > 0 ? record.baseOid : undefined,
    );
    const base = await this.holdBase(record, known);
    let sent: Sent;
    try {
      if (record.epoch !== this.parts.epoch() || record.instance !== journal.instance)
        throw new RunnelError("Stale", "replay", "The volume was made anew.");
      const state = await tree.asked(record.node);
      const isCurrent = (): boolean => state !== undefined && state.nlink > 0 && state.version === record.baseVersion;
      sent = await this.parts.sender.send(record, base, { mayStart: isCurrent });
    } catch (error) {
      if (!isRunnelError(error, "Stale", "NotFound")) throw error;
      sent = await this.keepBeside(record, base);
    } finally {
      if (base !== undefined) cache.release(base);
    }
    try {
      if (sent.result.conflict) this.parts.conflict(record.path, sent.result.node);
      await sent.keep();
      await journal.done(record.instance, record.n);
    } finally {
      await sent.release();
    }
  }

  /** Sends a commit as a new file: under its own path if that is free, else beside it. */
  private async keepBeside(record: JournalCommit, base: CachedContent | undefined): Promise<Sent> {
    const { operations, journal, sender, problem } = this.parts;
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
      const sent = await sender.send(kept, base);
      if (name !== basename(record.path))
        problem(`${record.path} was changed elsewhere while it waited to be sent; this version is kept as ${name}.`);
      return sent;
    } finally {
      operations.answered(n);
    }
  }

  private async freePlace(path: string): Promise<{ folder: number; name: string }> {
    const { tree, clock } = this.parts;
    const parts = path.split("/");
    const name = parts.pop() || "file";
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
}

function wordsOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
