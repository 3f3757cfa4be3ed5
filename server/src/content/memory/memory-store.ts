// The memory engine of ContentStore: versions in a Map, no plain files, no other programs. Everything is applied as
// soon as its bytes have been put together. For tests of what stands above, and as the reference that the folder engine
// is compared with.
import type { DiskSpace, Notice, VersionId } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { MetaStore, Run, WriteContent } from "../../meta/meta-store.ts";
import type {
  AcceptedCommit,
  ContentCallbacks,
  ContentEngine,
  ContentStatus,
  ContentStore,
  OpenVersion,
  StagedFile,
} from "../content-store.ts";

export interface MemoryOptions {
  meta: MetaStore;
  callbacks: ContentCallbacks;
  capacityBytes?: number;
}

const CAPACITY_BYTES = 2 ** 40;
const NO_BYTES = new Uint8Array(0);

export function openMemoryStore(options: MemoryOptions): ContentStore {
  return new MemoryStore(options);
}

/** Nothing outlives the process: there is never anything to salvage. */
export function memoryEngine(): ContentEngine {
  return {
    salvage: async () => ({ shown: 0, conflictCopies: [], missing: [] }),
    open: async (meta, callbacks) => openMemoryStore({ meta, callbacks }),
    close: async () => undefined,
  };
}

function keyOf({ node, seq }: VersionId): string {
  return `${node}.${seq}`;
}

function gone(version: VersionId): RunnelError {
  return new RunnelError("Gone", "read version", `Version ${keyOf(version)} is no longer kept.`);
}

class MemoryStore implements ContentStore {
  readonly #meta: MetaStore;
  readonly #callbacks: ContentCallbacks;
  readonly #capacityBytes: number;
  readonly #contents = new Map<string, Uint8Array>();
  readonly #staged = new Map<string, Uint8Array>();
  #waiters: { seq: number; resolve: () => void }[] = [];
  #work: Promise<void> = Promise.resolve();
  #usedBytes = 0;
  #reservedBytes = 0;
  #pending = 0;
  #appliedSeq = 0;
  #stuck: ContentStatus["stuck"];
  #nextStaged = 1;

  constructor({ meta, callbacks, capacityBytes }: MemoryOptions) {
    this.#meta = meta;
    this.#callbacks = callbacks;
    this.#capacityBytes = capacityBytes ?? CAPACITY_BYTES;
  }

  async start(commits: AcceptedCommit[]): Promise<void> {
    this.#appliedSeq = (await this.#meta.facts()).appliedSeq;
    for (const commit of commits) this.accept(commit);
    this.#callbacks.uncertain();
    this.#callbacks.scanned();
  }

  async scan(): Promise<void> {
    this.#callbacks.uncertain();
    this.#callbacks.scanned();
  }

  async #bytesOf(version: VersionId): Promise<Uint8Array> {
    const kept = this.#contents.get(keyOf(version));
    if (kept !== undefined) return kept;
    const row = await this.#meta.version(version);
    if (row?.sizeBytes === 0) return NO_BYTES;
    throw gone(version);
  }

  async open(version: VersionId): Promise<OpenVersion> {
    // A version just accepted is put together first.
    await this.#work;
    const bytes = await this.#bytesOf(version);
    const read = (offset: number, length: number): Uint8Array => {
      if (offset < 0 || length < 0 || offset + length > bytes.length) {
        throw new RunnelError(
          "Invalid",
          "read version",
          `${length} bytes at ${offset} are not in a version of ${bytes.length}.`,
        );
      }
      return bytes.slice(offset, offset + length);
    };
    return {
      sizeBytes: bytes.length,
      file: undefined,
      isSettled: async () => false,
      // There is no other writer.
      secure: async () => true,
      reportMismatch: async () => undefined,
      digest: (ranges, executor) => executor.digest(ranges.map(({ offset, length }) => read(offset, length))),
      read: async (offset, length) => read(offset, length),
      close: async () => undefined,
    };
  }

  async stage(): Promise<StagedFile> {
    const name = `staged-${this.#nextStaged++}`;
    const staged = this.#staged;
    staged.set(name, NO_BYTES);
    return {
      name,
      write: async (offset, bytes) => {
        staged.set(
          name,
          resized(staged.get(name) ?? NO_BYTES, Math.max(staged.get(name)?.length ?? 0, offset + bytes.length)),
        );
        staged.get(name)?.set(bytes, offset);
      },
      // Nothing of it outlives the process.
      note: async () => undefined,
      sync: async (lengthBytes) => {
        staged.set(name, resized(staged.get(name) ?? NO_BYTES, lengthBytes));
      },
      named: async () => undefined,
      discard: async () => {
        staged.delete(name);
      },
      detach: async () => undefined,
    };
  }

  async reserve(bytes: number): Promise<() => void> {
    if (this.#usedBytes + this.#reservedBytes + bytes > this.#capacityBytes) {
      throw new RunnelError("NoSpace", "reserve space", "The memory store has no room for this.");
    }
    this.#reservedBytes += bytes;
    let isTaken = true;
    return () => {
      if (isTaken) this.#reservedBytes -= bytes;
      isTaken = false;
    };
  }

  accept(commit: AcceptedCommit): void {
    this.#pending += 1;
    this.#work = this.#work
      .then(() => this.#apply(commit))
      .catch((error: unknown) => {
        this.#stuck = { path: "", kind: "Io", sentence: String(error) };
      });
  }

  async #apply(commit: AcceptedCommit): Promise<void> {
    const { operation, result, seq } = commit;
    const version = { node: result.node, seq: result.version };
    const places: Parameters<MetaStore["recordApplied"]>[0]["places"] = [];
    if (operation.op === "write" && operation.content.sizeBytes > 0) {
      const bytes = await this.#assemble(commit, operation.content);
      this.#contents.set(keyOf(version), bytes);
      this.#usedBytes += bytes.length;
      places.push({ version, place: { at: "disk" } });
    }
    await this.#meta.recordApplied({ put: [], removed: [], places, appliedSeq: seq });
    this.#pending -= 1;
    this.#appliedSeq = seq;
    this.#callbacks.applied(seq);
    for (const { resolve } of this.#waiters.filter((waiter) => waiter.seq <= seq)) resolve();
    this.#waiters = this.#waiters.filter((waiter) => waiter.seq > seq);
  }

  async #assemble(commit: AcceptedCommit, content: WriteContent): Promise<Uint8Array> {
    const bytes = new Uint8Array(content.sizeBytes);
    let at = 0;
    for (const run of content.runs) {
      bytes.set(await this.#run(commit, content.temp, run, at), at);
      at += run.length;
    }
    this.#staged.delete(content.temp);
    return bytes;
  }

  async #run(commit: AcceptedCommit, temp: string, run: Run, at: number): Promise<Uint8Array> {
    if (run.from === "temp") return (this.#staged.get(temp) ?? NO_BYTES).subarray(at, at + run.length);
    if (run.from === "version") return (await this.#bytesOf(run.version)).subarray(run.offset, run.offset + run.length);
    if (commit.data === undefined) throw new RunnelError("Corrupt", "apply", "A commit has no data for its runs.");
    return this.#callbacks.readLog(commit.data, run.at, run.length);
  }

  whenApplied(seq: number): Promise<void> {
    if (seq <= this.#appliedSeq) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.push({ seq, resolve }));
  }

  checkName(): void {
    // Memory holds any name.
  }

  checkFree(): undefined {
    return undefined;
  }

  checkExcluded(): undefined {
    // Nor is anything in it that is not in the tree.
  }

  async checkRoot(): Promise<void> {
    // Memory does not go away.
  }

  async space(): Promise<DiskSpace> {
    const freeBytes = this.#capacityBytes - this.#usedBytes;
    return {
      totalBytes: this.#capacityBytes,
      freeBytes,
      availableBytes: freeBytes,
      totalFiles: 2 ** 24,
      freeFiles: 2 ** 24,
    };
  }

  status(): ContentStatus {
    return {
      pendingCommits: this.#pending,
      stuck: this.#stuck,
      isScanning: false,
      scan: undefined,
      excluded: { count: 0, examples: [] },
    };
  }

  notices(): Promise<Notice[]> {
    return this.#meta.notices();
  }

  async close(): Promise<void> {
    await this.#work;
  }
}

function resized(bytes: Uint8Array, length: number): Uint8Array {
  if (bytes.length === length) return bytes;
  const grown = new Uint8Array(length);
  grown.set(bytes.subarray(0, length));
  return grown;
}
