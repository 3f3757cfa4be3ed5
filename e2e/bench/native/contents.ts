// What is cut, digested and compressed: random bytes, and the files of a real tree, each for itself as the server reads them.
import { createCipheriv } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

export interface Content {
  name: "random" | "tree";
  files: readonly Uint8Array[];
  bytes: number;
}

/** Alike in every run. */
export function randomBytes(length: number, seed: number): Uint8Array {
  return createCipheriv("aes-128-ctr", Buffer.alloc(16, seed), Buffer.alloc(16)).update(Buffer.alloc(length));
}

export function randomContent(bytes: number): Content {
  return { name: "random", files: [randomBytes(bytes, 1)], bytes };
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
  return { name: "tree", files, bytes };
}

function* filesBelow(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
