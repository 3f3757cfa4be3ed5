// Bytes that a write brings: few go into the log record of its commit, more into a staged file at the offsets they will
// have.
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { ContentStore, StagedFile, ResumedFile } from "../content/content-store.ts";
import type { Run } from "../meta/meta-store.ts";
import type { Allowance } from "./allowances.ts";

/** Data of a commit that is kept inside its log record. */
export const INLINE_BYTES_MAX = 1024 * 1024;
/** Data of a suspended write, which may wait in memory for a day. */
const SUSPENDED_BYTES_MAX = 4096;
/** Files that a staged file takes: itself, and its notes. */
const STAGED_FILES = 2;

export class NewData {
  readonly #content: Pick<ContentStore, "stage">;
  readonly #allowance: Allowance;
  /** Called when the data for the log record have moved to the staged file. */
  readonly #moved: () => void;
  /** Data for the log record, at most INLINE_BYTES_MAX; more is in `#staged`. */
  #inline: { offset: number; bytes: Uint8Array }[] = [];
  #inlineBytes = 0;
  #staged: StagedFile | undefined;
  #spilling: Promise<void> | undefined;
  #isSpilled = false;
  #reservedBytes = 0;
  #descriptors = 0;
  #openFiles = 0;

  constructor(content: Pick<ContentStore, "stage">, allowance: Allowance, moved: () => void) {
    this.#content = content;
    this.#allowance = allowance;
    this.#moved = moved;
  }

  /**
   * Stores bytes and calls `put` with the run where they are, before a later `moved`. Several calls may be under way.
   * The bytes are the caller's again when it resolves.
   * @throws Quota, NoSpace.
   */
  async store(offset: number, bytes: Uint8Array, put: (run: Run) => void): Promise<void> {
    this.count(bytes.length);
    if (this.#spilling === undefined && this.#mayKeep(bytes.length)) {
      const at = this.#inlineBytes;
      this.#inline.push({ offset, bytes: bytes.slice() });
      this.#inlineBytes += bytes.length;
      put({ from: "log", at, length: bytes.length });
      return;
    }
    try {
      this.#spilling ??= this.#spill();
      await this.#spilling;
      await this.#staged?.write(offset, bytes);
    } catch (error) {
      throw fullFolder(error);
    }
    put({ from: "temp", length: bytes.length });
  }

  #mayKeep(bytes: number): boolean {
    return this.#inlineBytes + bytes <= INLINE_BYTES_MAX && this.#allowance.reserveMemory(bytes);
  }

  async #spill(): Promise<void> {
    this.#open();
    this.#staged = await this.#content.stage();
    for (const piece of this.#inline) await this.#staged.write(piece.offset, piece.bytes);
    this.#dropInline();
    this.#moved();
    this.#isSpilled = true;
  }

  #open(): void {
    if (!this.#allowance.openFiles(STAGED_FILES))
      throw new RunnelError("Busy", "write", "Too many files are being uploaded.", {
        detail: { retryAfterMs: 10_000 },
      });
    this.#openFiles = STAGED_FILES;
  }

  /** Moves all but a little from memory to the staged file. @throws NoSpace. */
  async suspend(): Promise<void> {
    if (this.#spilling !== undefined || this.#inlineBytes <= SUSPENDED_BYTES_MAX) return;
    try {
      this.#spilling = this.#spill();
      await this.#spilling;
    } catch (error) {
      throw fullFolder(error);
    }
  }

  /** True once all that was stored so far is in a staged file. */
  get isStaged(): boolean {
    return this.#isSpilled;
  }

  /** Adds notes beside the staged file, when there is one. @throws NoSpace. */
  async note(notes: readonly Uint8Array[]): Promise<void> {
    try {
      await this.#staged?.note(notes);
    } catch (error) {
      throw fullFolder(error);
    }
  }

  /** Continues in a file that an earlier process staged. */
  resume(file: ResumedFile): void {
    this.#open();
    this.#staged = file;
    this.#spilling = Promise.resolve();
    this.#isSpilled = true;
  }

  /** Counts bytes against the allowance. @throws Quota. */
  count(bytes: number): void {
    this.#allowance.reserveBytes(bytes);
    this.#reservedBytes += bytes;
  }

  /** Sets how many descriptors the write holds, and what takes as much memory as so many. @throws Busy. */
  holdDescriptors(descriptors: number): void {
    this.#allowance.holdDescriptors(descriptors - this.#descriptors);
    this.#descriptors = descriptors;
  }

  /** Returns all that was stored; the staged part is on stable storage then. */
  async finish(sizeBytes: number): Promise<{ data: Uint8Array; temp: string }> {
    await this.#staged?.sync(sizeBytes);
    return { data: Buffer.concat(this.#inline.map((piece) => piece.bytes)), temp: this.#staged?.name ?? "" };
  }

  /** Leaves what was staged to the content store: the commit has been accepted. */
  async handOver(): Promise<void> {
    this.#releaseAll();
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.named();
  }

  /** Leaves what is staged to the next process. */
  async detach(): Promise<void> {
    this.#releaseAll();
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.detach();
  }

  async discard(): Promise<void> {
    this.#releaseAll();
    await this.#staged?.discard();
    this.#staged = undefined;
  }

  #releaseAll(): void {
    this.#allowance.releaseBytes(this.#reservedBytes);
    this.#reservedBytes = 0;
    this.holdDescriptors(0);
    this.#allowance.openFiles(-this.#openFiles);
    this.#openFiles = 0;
    this.#dropInline();
  }

  #dropInline(): void {
    this.#allowance.releaseMemory(this.#inlineBytes);
    this.#inline = [];
    this.#inlineBytes = 0;
  }
}

/** Rephrases the error of a full disk with the served folder; other errors stay as they are. */
function fullFolder(error: unknown): unknown {
  if (!isRunnelError(error, "NoSpace")) return error;
  return new RunnelError("NoSpace", error.operation, "The server's disk with the volume's folder is full.", {
    cause: error,
  });
}
