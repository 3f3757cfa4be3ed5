// Changes of many small files, as benchmarks let a child process make them: see work.ts for how these travel. All take
// the folder's files by number, so that one begins where another has ended.
import type { Task } from "./work.ts";

/** New files, each opened, written and closed. */
export async function createFiles({ folder, bytes, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { randomBytes } = await import("node:crypto");
  const contents = Array.from({ length: count }, () => randomBytes(bytes));
  fs.mkdirSync(`${folder}/files-${seed}`);
  const start = performance.now();
  for (const [i, content] of contents.entries()) {
    const file = fs.openSync(`${folder}/files-${seed}/${i}`, "w");
    fs.writeSync(file, content);
    fs.closeSync(file);
  }
  return performance.now() - start;
}

/** The same files, with other bytes. */
export async function overwriteFiles({ folder, bytes, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { randomBytes } = await import("node:crypto");
  const contents = Array.from({ length: count }, () => randomBytes(bytes));
  const start = performance.now();
  for (const [i, content] of contents.entries()) {
    const file = fs.openSync(`${folder}/files-${seed}/${i}`, "w");
    fs.writeSync(file, content);
    fs.closeSync(file);
  }
  return performance.now() - start;
}

export async function changeModes({ folder, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.chmodSync(`${folder}/files-${seed}/${i}`, 0o600);
  return performance.now() - start;
}

export async function renameFiles({ folder, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.renameSync(`${folder}/files-${seed}/${i}`, `${folder}/files-${seed}/moved-${i}`);
  return performance.now() - start;
}

/** Removes what was renamed. */
export async function removeFiles({ folder, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.unlinkSync(`${folder}/files-${seed}/moved-${i}`);
  return performance.now() - start;
}

export async function makeFolders({ folder, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  fs.mkdirSync(`${folder}/folders-${seed}`);
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.mkdirSync(`${folder}/folders-${seed}/${i}`);
  return performance.now() - start;
}
