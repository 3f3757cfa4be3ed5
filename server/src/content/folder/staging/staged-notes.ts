// The notes of a staged file, in a file next to it [F33]: appended, and synced now and then. What a power cut tears off
// is not reported; whoever reads them holds them to the bytes.
import { crc32 } from "node:zlib";
import type { DiskFile, DiskRoot } from "@runnel/shared";
import { LIMITS, openIfThere } from "@runnel/shared";
import { STORE_FILE_MODE, notesPath } from "../disk/store-layout.ts";

/** Length and check of a note, u32 each. */
const HEAD_BYTES = 8;
const LENGTH_BYTES = 4;

export class StagedNotes {
  readonly #root: DiskRoot;
  readonly #path: string;
  #file: DiskFile | undefined;
  #end: number;

  /** `end`: where the next note goes. */
  constructor(root: DiskRoot, name: string, end = 0) {
    this.#root = root;
    this.#path = notesPath(name);
    this.#end = end;
  }

  async append(notes: readonly Uint8Array[]): Promise<void> {
    this.#file ??= await this.#root.open(this.#path, "create", STORE_FILE_MODE);
    const bytes = Buffer.concat(notes.map((note) => encodeNote(note)));
    await this.#file.write(this.#end, bytes);
    this.#end += bytes.length;
  }

  /** Drops those from `end` on. */
  async cut(end: number): Promise<void> {
    this.#file ??= await this.#root.open(this.#path, "create", STORE_FILE_MODE);
    await this.#file.truncate(end);
    this.#end = end;
  }

  async sync(): Promise<void> {
    await this.#file?.sync();
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }
}

/** Yields them in order, up to the first that is not whole. */
export async function* readNotes(root: DiskRoot, name: string): AsyncGenerator<{ note: Uint8Array; end: number }> {
  const file = await openIfThere(root, notesPath(name));
  if (file === undefined) return;
  try {
    for (let at = 0; ;) {
      const head = Buffer.from(await file.read(at, HEAD_BYTES));
      const length = head.length === HEAD_BYTES ? head.readUInt32LE(0) : 0;
      if (length === 0 || length > LIMITS.controlBytes) return;
      const note = await file.read(at + HEAD_BYTES, length);
      if (note.length !== length || head.readUInt32LE(LENGTH_BYTES) !== checkOf(head, note)) return;
      at += HEAD_BYTES + length;
      yield { note, end: at };
    }
  } finally {
    await file.close();
  }
}

function encodeNote(note: Uint8Array): Uint8Array {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(note.length, 0);
  head.writeUInt32LE(checkOf(head, note), LENGTH_BYTES);
  return Buffer.concat([head, note]);
}

function checkOf(head: Uint8Array, note: Uint8Array): number {
  return crc32(note, crc32(head.subarray(0, LENGTH_BYTES)));
}
