// Contents that are cut, digested and compressed: random bytes, and the files of a real tree, each for itself, in steps
// as they are read.
import { createCipheriv } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Pieces of files that are read at once, up to a megabyte of them. */
export type Step = readonly Piece[];

export interface Piece {
  bytes: Uint8Array;
  /** The file ends with it. */
  isEnd: boolean;
}

export interface Content {
  name: "random" | "tree";
  files: readonly Uint8Array[];
  steps: readonly Step[];
  bytes: number;
}

/** Size of the server's reads. */
export const STEP_BYTES = 1024 * 1024;

function contentOf(name: Content["name"], files: readonly Uint8Array[]): Content {
  const steps: Piece[][] = [];
  let room = 0;
  for (const file of files) {
    for (let at = 0; at < file.length;) {
      if (room === 0) {
        steps.push([]);
        room = STEP_BYTES;
      }
      const bytes = file.subarray(at, at + room);
      at += bytes.length;
      room -= bytes.length;
      steps.at(-1)?.push({ bytes, isEnd: at === file.length });
    }
  }
  return { name, files, steps, bytes: files.reduce((sum, { length }) => sum + length, 0) };
}

function numbered(seed: number): Buffer {
  const key = Buffer.alloc(16);
  key.writeUInt32LE(seed);
  return key;
}

/** Alike in every run. */
export function randomBytes(length: number, seed: number): Uint8Array {
  return createCipheriv("aes-128-ctr", numbered(seed), Buffer.alloc(16)).update(Buffer.alloc(length));
}

export function randomContent(bytes: number): Content {
  return contentOf("random", [randomBytes(bytes, 1)]);
}

/** Files of a folder in order of their paths, until there are so many bytes. */
export function treeContent(folder: string, bytesMax: number): Content {
  const files: Uint8Array[] = [];
  let bytes = 0;
  for (const path of filesBelow(folder)) {
    if (bytes >= bytesMax) break;
    const file = readFileSync(path);
    files.push(file);
    bytes += file.length;
  }
  return contentOf("tree", files);
}

function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
