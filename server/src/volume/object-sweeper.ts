// Removes objects whose time is over: files of the folder of objects that are named by an OID and say until when they
// are wanted (shared/src/model/objects.ts). Nothing else is ever removed, and what is goes as any removal does: through
// the commit queue, to feed and trash.
import {
  type Clock,
  type Entry,
  OBJECTS_FOLDER,
  ROOT_NODE,
  RunnelError,
  UNTIL_XATTR,
  isObjectName,
  isRunnelError,
  parseUntil,
} from "@runnel/shared";
import type { CommitQueue, Submission } from "../commit-log/queue.ts";
import type { MetaStore } from "../meta/meta-store.ts";

const EVERY_MS = 60_000;
/** Entries that are read at once. */
const PAGE_ENTRIES = 500;
/** Objects removed in one commit, which others wait for. */
const REMOVED_AT_ONCE = 100;
const NO_DATA = new Uint8Array(0);

interface End {
  xattrSeq: number;
  until: number | undefined;
}

export interface ObjectSweeperDeps {
  meta: Pick<MetaStore, "lookup" | "list" | "xattrs">;
  clock: Clock;
  queue: Pick<CommitQueue, "submitBatch">;
  warn(message: string, error?: unknown): void;
}

export class ObjectSweeper {
  readonly #deps: ObjectSweeperDeps;
  /** Ends of the objects that were there at the last sweep: attributes are read when they have changed. */
  #ends = new Map<number, End>();
  #dueMs = 0;
  #working: Promise<void> | undefined;
  #isClosed = false;

  constructor(deps: ObjectSweeperDeps) {
    this.#deps = deps;
  }

  /** Begins what is due. */
  sweep(): void {
    const nowMs = this.#deps.clock.bootMs();
    if (this.#working !== undefined || this.#isClosed || nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + EVERY_MS;
    this.#working = this.#sweep()
      .catch((error: unknown) => {
        // A queue that is closed, or has no room, takes nothing now.
        if (!this.#isClosed) this.#deps.warn("Objects whose time is over could not be removed.", error);
      })
      .finally(() => {
        this.#working = undefined;
      });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#working;
  }

  async #sweep(): Promise<void> {
    const { meta } = this.#deps;
    const folder = await meta.lookup(ROOT_NODE, OBJECTS_FOLDER);
    if (folder?.type !== "folder") return;
    const before = this.#ends;
    this.#ends = new Map();
    for (let after: string | undefined = ""; after !== undefined && !this.#isClosed;) {
      const page: Entry[] = await meta.list(folder.node, after, PAGE_ENTRIES);
      after = page.length < PAGE_ENTRIES ? undefined : page.at(-1)?.name;
      const over: Entry[] = [];
      for (const entry of page) if (await this.#isOver(entry, before)) over.push(entry);
      for (let at = 0; at < over.length && !this.#isClosed; at += REMOVED_AT_ONCE)
        await this.#remove(folder.node, over.slice(at, at + REMOVED_AT_ONCE));
    }
  }

  async #isOver({ name, state }: Entry, known: ReadonlyMap<number, End>): Promise<boolean> {
    const { node, type, xattrSeq } = state;
    if (type !== "file" || !isObjectName(name) || xattrSeq === undefined) return false;
    const before = known.get(node);
    const end = before?.xattrSeq === xattrSeq ? before : { xattrSeq, until: await this.#untilOf(node) };
    this.#ends.set(node, end);
    const { until } = end;
    return until !== undefined && BigInt(until) * 1_000_000_000n <= this.#deps.clock.wallNs();
  }

  async #untilOf(node: number): Promise<number | undefined> {
    const xattrs = await this.#deps.meta.xattrs(node);
    return parseUntil(xattrs.find(([attribute]) => attribute === UNTIL_XATTR)?.[1]);
  }

  /** Removes those that are over still when nothing else is being committed: somebody may have wanted one longer. */
  async #remove(folder: number, over: readonly Entry[]): Promise<void> {
    const find = async (): Promise<Submission[]> => {
      const found: Submission[] = [];
      for (const { name, state } of over) {
        const now = await this.#deps.meta.lookup(folder, name);
        if (now === undefined || now.node !== state.node || !(await this.#isOver({ name, state: now }, this.#ends)))
          continue;
        const operation = { op: "remove", folder, name, node: now.node, isFolder: false } as const;
        found.push({ operation, id: undefined, data: NO_DATA, holder: undefined });
      }
      if (found.length === 0) throw new RunnelError("Gone", "remove objects", "None is over any more.");
      return found;
    };
    await this.#deps.queue.submitBatch(find).catch((error: unknown) => {
      if (!isRunnelError(error, "Gone")) throw error;
    });
  }
}
