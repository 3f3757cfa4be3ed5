// Commits that could not be sent: kept in the journal, sent again when the server is back, each executed once. What was changed elsewhere meanwhile, or
// belongs to another epoch, is kept beside: never an overwrite in doubt.
import { basename, parse } from "node:path";
import type { Clock } from "@runnel/shared";
import { ROOT_NODE, RunnelError, isRunnelError, packType } from "@runnel/shared";
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
}

const KEPT_MODE = 0o644;

export class Unsent {
  private readonly parts: UnsentParts;
  /** By node: a later commit of the node takes the place of an earlier one. */
  private readonly waiting = new Map<number, JournalCommit>();
  private replaying: Promise<void> | undefined;

  constructor(parts: UnsentParts) {
    this.parts = parts;
    for (const record of this.sendable()) this.waiting.set(record.node, record);
    for (const record of parts.journal.unproven()) {
      parts.problem(
        `The last change to ${record.path} may not have survived the power cut; its bytes are kept in ${parts.journal.dataFolder}.`,
      );
    }
  }

  list(): JournalCommit[] {
    return [...this.waiting.values()];
  }

  /** A commit failed: it waits here. */
  keep(record: JournalCommit, error: unknown): void {
    this.waiting.set(record.node, record);
    const why = error instanceof Error ? error.message : String(error);
    this.parts.problem(
      `${record.path} could not be sent (${why}); it is kept here and will be sent when that is possible.`,
    );
  }

  /** A newer content of the node has been committed: what waited is part of it. */
  async overtaken(node: number): Promise<void> {
    const record = this.waiting.get(node);
    if (record === undefined) return;
    this.waiting.delete(node);
    await this.parts.journal.done(record.instance, record.n);
  }

  /** Sends what waits, oldest first. Called when attached. */
  async replay(): Promise<void> {
    this.replaying ??= this.replayAll().finally(() => {
      this.replaying = undefined;
    });
    await this.replaying;
  }

  private async replayAll(): Promise<void> {
    const { journal, operations, session, problem } = this.parts;
    for (const record of this.sendable()) {
      if (!session.isConnected) return;
      if (record.instance === journal.instance && operations.isOutstanding(record.n)) continue;
      try {
        await this.replayOne(record);
        this.waiting.delete(record.node);
      } catch (error) {
        if (isRunnelError(error, "Unreachable")) return;
        this.waiting.set(record.node, record);
        problem(
          `Changes to ${record.path} could not be sent: ${error instanceof Error ? error.message : String(error)}`,
        );
      }
    }
  }

  private sendable(): JournalCommit[] {
    const { journal } = this.parts;
    const unproven = new Set(journal.unproven().map((record) => `${record.instance}:${record.n}`));
    return journal.pending().filter((record) => !unproven.has(`${record.instance}:${record.n}`));
  }

  /** Exactly once by its number; when the file has changed meanwhile, or the epoch, it is kept beside: never an overwrite in doubt. */
  private async replayOne(record: JournalCommit): Promise<void> {
    const { cache, journal, tree } = this.parts;
    const base = cache.find(
      { node: record.node, seq: record.baseVersion },
      record.baseOid.length > 0 ? record.baseOid : undefined,
    );
    let sent: Sent;
    try {
      if (record.epoch !== this.parts.epoch() || record.instance !== journal.instance)
        throw new RunnelError("Stale", "replay", "The volume was made anew.");
      const state = await tree.node(record.node).catch(() => undefined);
      const isCurrent = (): boolean => state !== undefined && state.nlink > 0 && state.version === record.baseVersion;
      sent = await this.parts.sender.send(record, base, isCurrent);
    } catch (error) {
      if (!isRunnelError(error, "Stale", "NotFound")) throw error;
      sent = await this.keepBeside(record, base);
    }
    if (sent.result.conflict) this.parts.conflict(record.path, sent.result.node);
    await sent.keep();
    await journal.done(record.instance, record.n);
    await sent.release();
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
}
