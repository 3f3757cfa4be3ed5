// Notices of the folder engine: versions that other programs destroyed, files kept as a conflict copy, saves that never
// got into their files. They are reported in passing and written by and by; those that are settled, or old, go when
// somebody asks.
import type { Clock, DiskRoot, Notice, VersionId } from "@runnel/shared";
import { LIMITS, ROOT_NODE, isRunnelError } from "@runnel/shared";
import type { MetaStore, NoticeStore } from "../../../meta/meta-store.ts";
import type { ByteRange } from "../../content-store.ts";
import type { DiskRows } from "./disk-rows.ts";

/** Notices are kept as long as old files in the trash. */
const KEPT_MS = 30 * 24 * 3_600_000;
const NS_PER_MS = 1_000_000n;
/** Ranges that a notice names. */
const MISSING_RANGES_MAX = 16;

export interface NoticesDeps {
  root: DiskRoot;
  rows: DiskRows;
  meta: Pick<MetaStore, "lookup">;
  kept: NoticeStore;
  clock: Clock;
  /** The folder is the volume's, and can be read. */
  isThere(): Promise<boolean>;
  /** The tree has all that lies in the folder. */
  isTreeKnown(): boolean;
  /** Called when something was written, or is over. */
  noticed(): void;
}

export class Notices {
  readonly #deps: NoticesDeps;
  /** Losses not yet written, by node. */
  readonly #lost = new Map<number, { seq: number; versions: number; path: string }>();
  #others: Notice[] = [];
  #writing: Promise<void> | undefined;

  constructor(deps: NoticesDeps) {
    this.#deps = deps;
  }

  get #nowMs(): number {
    return Number(this.#deps.clock.wallNs() / NS_PER_MS);
  }

  /** `path`: that it had, as far as that is known. */
  addLost({ node, seq }: VersionId, path: string): void {
    const before = this.#lost.get(node);
    if (before === undefined && this.#lost.size >= LIMITS.notices) return;
    if (before?.seq !== seq) this.#lost.set(node, { seq, versions: (before?.versions ?? 0) + 1, path });
    void this.#write();
  }

  addConflict(path: string, conflictCopy: string): void {
    this.#add({ kind: "conflict", path, conflictCopy, atMs: this.#nowMs });
  }

  /** An acknowledged save that never got into its plain file. */
  addDestroyed(path: string, seq: number): void {
    this.#add({ kind: "destroyed", path, seq, atMs: this.#nowMs });
  }

  #add(notice: Notice): void {
    if (this.#others.length >= LIMITS.notices) this.#others.shift();
    this.#others.push(notice);
    void this.#write();
  }

  addIncomplete(path: string, conflictCopy: string, missing: readonly ByteRange[]): void {
    const ranges = missing.slice(0, MISSING_RANGES_MAX).map(({ offset, length }) => ({ offset, length }));
    const missingBytes = missing.reduce((sum, { length }) => sum + length, 0);
    this.#add({ kind: "incomplete", path, conflictCopy, missing: ranges, missingBytes, atMs: this.#nowMs });
  }

  /** Oldest first, with all that was reported before the call. */
  async list(): Promise<Notice[]> {
    const { kept } = this.#deps;
    await this.#write();
    const all = await kept.notices();
    const over: Notice[] = [];
    const canCheck = await this.#deps.isThere();
    for (const notice of all) if (await this.#isOver(notice, canCheck)) over.push(notice);
    if (over.length > 0) {
      await kept.forgetNotices(over);
      this.#deps.noticed();
    }
    return all.filter((notice) => !over.includes(notice));
  }

  async #isOver(notice: Notice, canCheck: boolean): Promise<boolean> {
    if (!("conflictCopy" in notice) || notice.conflictCopy === undefined) return this.#isOld(notice);
    // Copies that clients make are in the tree, and may not be in the folder yet.
    if (notice.kind === "clientConflict") return this.#deps.isTreeKnown() && this.#isGoneFromTree(notice.conflictCopy);
    return canCheck && this.#isGone(notice.conflictCopy);
  }

  #isOld({ atMs }: Notice): boolean {
    return this.#nowMs - atMs > KEPT_MS;
  }

  async #isGone(path: string): Promise<boolean> {
    try {
      await this.#deps.root.stat(path);
      return false;
    } catch (error) {
      return isRunnelError(error, "NotFound", "NotFolder");
    }
  }

  async #isGoneFromTree(path: string): Promise<boolean> {
    let node: number | undefined = ROOT_NODE;
    for (const name of path.split("/")) {
      node = (await this.#deps.meta.lookup(node, name))?.node;
      if (node === undefined) return true;
    }
    return false;
  }

  /** Resolves when all reported so far is written, or could not be: then it is with the next. */
  async #write(): Promise<void> {
    const before = this.#writing;
    const mine = (async () => {
      await before;
      const others = this.#others.splice(0);
      const lost = [...this.#lost];
      this.#lost.clear();
      if (others.length + lost.length === 0) return;
      try {
        await this.#deps.kept.note([...others, ...(await this.#lostNotices(lost))]);
        this.#deps.noticed();
      } catch {
        this.#others.unshift(...others);
        for (const [node, { seq, versions, path }] of lost) {
          const since = this.#lost.get(node);
          this.#lost.set(node, {
            seq: since?.seq ?? seq,
            versions: versions + (since?.versions ?? 0),
            path: since?.path ?? path,
          });
        }
      }
    })();
    this.#writing = mine;
    await mine;
  }

  async #lostNotices(lost: readonly [number, { seq: number; versions: number; path: string }][]): Promise<Notice[]> {
    const notices: Notice[] = [];
    for (const [node, { seq, versions, path: had }] of lost) {
      const [row] = await this.#deps.rows.ofNode(node);
      const path = (row && (await this.#deps.rows.pathOfName(row.folder, row.name))) ?? had;
      notices.push({ kind: "lost", path, node, seq, versions, atMs: this.#nowMs });
    }
    return notices;
  }

  async close(): Promise<void> {
    await this.#write();
  }
}
