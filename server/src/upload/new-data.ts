// The bytes that a write brings: few go into the log record of its commit, more into a staged file at the offsets they will have.
import { RunnelError } from "@runnel/shared";
import { fullFolder } from "../commit-log/free-space.ts";
import type { ContentStore, StagedFile, ResumedFile } from "../content/content-store.ts";
import type { Run } from "../meta/meta-store.ts";
import type { Allowance } from "./resumable-uploads.ts";

/** Of a commit kept inside its log record. */
export const INLINE_BYTES_MAX = 1024 * 1024;
/** Of a write whose channel broke, which may wait in memory for a day. */
const RESTING_BYTES_MAX = 4096;
/** It, and its notes. */
const STAGED_FILES = 2;

export class NewData {
  readonly #content: Pick<ContentStore, "stage">;
  readonly #allowance: Allowance;
  /** What was for the log record is in the staged file now. */
  readonly #moved: () => void;
  /** At most INLINE_BYTES_MAX, else `staged` has it. */
  #inline: { offset: number; bytes: Uint8Array }[] = [];
  #inlineBytes = 0;
  #staged: StagedFile | undefined;
  #spilling: Promise<void> | undefined;
  #isSpilled = false;
  #takenBytes = 0;
  #descriptors = 0;
  #openFiles = 0;

  constructor(content: Pick<ContentStore, "stage">, allowance: Allowance, moved: () => void) {
    this.#content = content;
    this.#allowance = allowance;
    this.#moved = moved;
  }

  /**
   * `put` is told where the bytes are, before a later `moved`. Several may be under way. The bytes are the caller's again when it resolves.
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
    return this.#inlineBytes + bytes <= INLINE_BYTES_MAX && this.#allowance.keep(bytes);
  }

  async #spill(): Promise<void> {
    this.#open();
    this.#staged = await this.#content.stage();
    for (const piece of this.#inline) await this.#staged.write(piece.offset, piece.bytes);
    this.#letGo();
    this.#moved();
    this.#isSpilled = true;
  }

  #open(): void {
    if (!this.#allowance.open(STAGED_FILES))
      throw new RunnelError("Busy", "write", "Too many files are being uploaded.", {
        detail: { retryAfterMs: 10_000 },
      });
    this.#openFiles = STAGED_FILES;
  }

  /** Little stays in memory. @throws NoSpace. */
  async rest(): Promise<void> {
    if (this.#spilling !== undefined || this.#inlineBytes <= RESTING_BYTES_MAX) return;
    try {
      this.#spilling = this.#spill();
      await this.#spilling;
    } catch (error) {
      throw fullFolder(error);
    }
  }

  /** All that was stored so far is in a staged file. */
  get isStaged(): boolean {
    return this.#isSpilled;
  }

  /** Notes beside the staged file, when there is one. @throws NoSpace. */
  async note(notes: readonly Uint8Array[]): Promise<void> {
    try {
      await this.#staged?.note(notes);
    } catch (error) {
      throw fullFolder(error);
    }
  }

  /** All goes on in a file that an earlier life staged. */
  takeUp(file: ResumedFile): void {
    this.#open();
    this.#staged = file;
    this.#spilling = Promise.resolve();
    this.#isSpilled = true;
  }

  /** So much is in it. @throws Quota. */
  count(bytes: number): void {
    this.#allowance.take(bytes);
    this.#takenBytes += bytes;
  }

  /** What says where it goes takes as much memory as so many descriptors. @throws Busy. */
  describe(descriptors: number): void {
    this.#allowance.describe(descriptors - this.#descriptors);
    this.#descriptors = descriptors;
  }

  /** All that was stored, the staged part on stable storage. */
  async finish(sizeBytes: number): Promise<{ data: Uint8Array; temp: string }> {
    await this.#staged?.sync(sizeBytes);
    return { data: Buffer.concat(this.#inline.map((piece) => piece.bytes)), temp: this.#staged?.name ?? "" };
  }

  /** The commit has been accepted: what was staged is the content store's. */
  async handOver(): Promise<void> {
    this.#giveBack();
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.named();
  }

  /** What is staged stays for the next life. */
  async leave(): Promise<void> {
    this.#giveBack();
    const staged = this.#staged;
    this.#staged = undefined;
    await staged?.detach();
  }

  async discard(): Promise<void> {
    this.#giveBack();
    await this.#staged?.discard();
    this.#staged = undefined;
  }

  #giveBack(): void {
    this.#allowance.giveBack(this.#takenBytes);
    this.#takenBytes = 0;
    this.describe(0);
    this.#allowance.open(-this.#openFiles);
    this.#openFiles = 0;
    this.#letGo();
  }

  #letGo(): void {
    this.#allowance.letGo(this.#inlineBytes);
    this.#inline = [];
    this.#inlineBytes = 0;
  }
}
