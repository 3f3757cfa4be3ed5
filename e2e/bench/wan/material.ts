// Material of the work over a WAN: a source tree, a document, a large file, and each as it is after an edit. Made in a
// folder of the local disk.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SeededRandom } from "@runnel/shared";
import { noise } from "../../src/harness/index.ts";

export interface Sizes {
  name: string;
  files: number;
  /** Files that an edit of the sources changes. */
  edited: number;
  /** Files that a build reads, and writes one for each. */
  built: number;
  documentBytes: number;
  largeBytes: number;
  /** Folders of the tree that are compared with those of another. */
  compared: number;
}

const MB = 1_000_000;

export const SIZES = {
  full: {
    name: "full",
    files: 5000,
    edited: 20,
    built: 200,
    documentBytes: 1.4 * MB,
    largeBytes: 100 * MB,
    compared: 20,
  },
  small: {
    name: "small",
    files: 500,
    edited: 10,
    built: 40,
    documentBytes: 1.4 * MB,
    largeBytes: 10 * MB,
    compared: 10,
  },
  tiny: { name: "tiny", files: 40, edited: 4, built: 4, documentBytes: 0.1 * MB, largeBytes: 1 * MB, compared: 1 },
} as const satisfies Record<string, Sizes>;

export const FILES_A_FOLDER = 50;
const FILE_BYTES = 3200;
const INSERTED_BYTES = 100;
const EDITS = 12;

/**
 * Before and after: `before/` is what the server has at first, `after/` has the edited files, `new/` a tree of other
 * contents.
 */
export function makeMaterial(folder: string, sizes: Sizes): void {
  for (const [name, seed] of [
    ["before/tree", 1],
    ["new", 2],
  ] as const) {
    for (let index = 0; index < sizes.files; index++) {
      const below = join(folder, name, `part-${Math.floor(index / FILES_A_FOLDER)}`);
      mkdirSync(below, { recursive: true });
      writeFileSync(join(below, `source-${index}.c`), source(index * 2 + seed, FILE_BYTES));
    }
  }
  const before = join(folder, "before");
  writeFileSync(join(before, "document.xml"), source(7, sizes.documentBytes));
  writeFileSync(join(before, "large.bin"), noise(sizes.largeBytes, 8));
  const after = join(folder, "after");
  cpSync(join(before, "tree"), join(after, "tree"), { recursive: true });
  for (let index = 0; index < sizes.edited; index++) {
    const path = join("tree", `part-${Math.floor(index / FILES_A_FOLDER)}`, `source-${index}.c`);
    const text = readFileSync(join(before, path), "utf8");
    writeFileSync(join(after, path), text.replace("return", `trace(${index});\n  return`));
  }
  writeFileSync(join(after, "document.xml"), withInsertions(readFileSync(join(before, "document.xml"))));
  const large = readFileSync(join(before, "large.bin"));
  large[Math.floor(large.length / 2)] = "x".charCodeAt(0);
  writeFileSync(join(after, "large.bin"), Buffer.concat([noise(INSERTED_BYTES, 9), large]));
}

/** Text as in sources: words that repeat, names and numbers that do not. */
function source(seed: number, sizeBytes: number): Buffer {
  const random = new SeededRandom(seed);
  const lines: string[] = [];
  for (let size = 0; size < sizeBytes; size += lines.at(-1)?.length ?? 0) {
    const [name, value] = [random.below(2 ** 31).toString(36), random.below(1000)];
    lines.push(
      `static int ${name}(int value) {\n  if (value > ${value}) return value;\n  return call_${name}(${value});\n}\n`,
    );
  }
  return Buffer.from(lines.join("")).subarray(0, sizeBytes);
}

function withInsertions(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  const step = Math.floor(bytes.length / EDITS);
  for (let at = 0; at < bytes.length; at += step)
    parts.push(bytes.subarray(at, at + step), Buffer.from(`a sentence that was written in at ${at}`));
  return Buffer.concat(parts);
}
