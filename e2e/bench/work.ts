// Work that benchmarks let a child process do on a drive or beside it. Each function travels as text (onMountInNode),
// so it sees nothing but its argument, and it times itself: starting the process does not count. All return
// milliseconds. Bytes to be written come from the seed; they neither compress nor repeat.

export interface Task {
  folder: string;
  /** Size of a file. */
  bytes: number;
  /** Files, or how often something is done. */
  count: number;
  /** Bytes of one call. */
  request: number;
  seed: number;
}

/** Writes a file in calls of `request` bytes, before it is closed: a program that writes on waits for this. */
export async function writeOn({ folder, bytes, request, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const data = Array.from({ length: Math.ceil(bytes / 1048576) }, () => stream.update(Buffer.alloc(1048576)));
  const file = fs.openSync(`${folder}/written`, "w");
  const start = performance.now();
  for (let at = 0; at < bytes; at += request) {
    fs.writeSync(file, data[Math.floor(at / 1048576)] as Buffer, at % 1048576, request);
  }
  const took = performance.now() - start;
  fs.ftruncateSync(file, 0); // Closing commits; there need not be much.
  fs.closeSync(file);
  return took;
}

/** Writes a file in calls of `request` bytes, fsync included: only then is it safe in either place. */
export async function writeAndSync({ folder, bytes, request, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const data = Array.from({ length: bytes / request }, () => stream.update(Buffer.alloc(request)));
  const start = performance.now();
  const file = fs.openSync(`${folder}/synced`, "w");
  for (const part of data) fs.writeSync(file, part);
  fs.fsyncSync(file);
  const took = performance.now() - start;
  fs.closeSync(file);
  return took;
}

/** The fsync alone of a file that has just been written. */
export async function syncWritten({ folder, bytes, request, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const file = fs.openSync(`${folder}/synced`, "w");
  for (let at = 0; at < bytes; at += request) fs.writeSync(file, stream.update(Buffer.alloc(request)));
  const start = performance.now();
  fs.fsyncSync(file);
  const took = performance.now() - start;
  fs.closeSync(file);
  return took;
}

/** `count` times over the file that `writeAndSync` or a preparation left. */
export async function readAgain({ folder, bytes, request, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  const buffer = Buffer.alloc(request);
  let took = 0;
  for (let i = 0; i < count; i++) {
    const start = performance.now();
    const file = fs.openSync(`${folder}/warm`, "r");
    let total = 0;
    for (let got = 1; got > 0; total += got) got = fs.readSync(file, buffer);
    fs.closeSync(file);
    took += performance.now() - start;
    if (total !== bytes) throw new Error(`read ${total} of ${bytes} bytes`);
  }
  return took;
}

/** New files, each with fsync. */
export async function writeSmall({ folder, bytes, count, seed }: Task): Promise<number> {
  const fs = await import("node:fs");
  const { createCipheriv } = await import("node:crypto");
  const stream = createCipheriv("aes-128-ctr", Buffer.alloc(16, seed & 255), Buffer.alloc(16, seed >> 8));
  const data = Array.from({ length: count }, () => stream.update(Buffer.alloc(bytes)));
  const start = performance.now();
  fs.mkdirSync(`${folder}/small-${seed}`);
  for (const [i, part] of data.entries()) {
    const file = fs.openSync(`${folder}/small-${seed}/${i}`, "w");
    fs.writeSync(file, part);
    fs.fsyncSync(file);
    fs.closeSync(file);
  }
  return performance.now() - start;
}

/** The files of the working folder in turn: no folder has to be looked up on the way. */
export async function statHere({ folder, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  process.chdir(`${folder}/many`);
  const names = fs.readdirSync(".").slice(0, 100);
  for (const name of names) fs.statSync(name);
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.statSync(names[i % names.length] as string);
  return performance.now() - start;
}

/** The same by their whole paths. */
export async function statPath({ folder, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  const names = fs.readdirSync(`${folder}/many`).slice(0, 100);
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.statSync(`${folder}/many/${names[i % names.length]}`);
  return performance.now() - start;
}

/** Opens for reading and closes, in the working folder. */
export async function openHere({ folder, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  process.chdir(`${folder}/many`);
  const names = fs.readdirSync(".").slice(0, 100);
  for (const name of names) fs.closeSync(fs.openSync(name, "r"));
  const start = performance.now();
  for (let i = 0; i < count; i++) fs.closeSync(fs.openSync(names[i % names.length] as string, "r"));
  return performance.now() - start;
}

/** Lists a folder `count` times. */
export async function listFolder({ folder, count }: Task): Promise<number> {
  const fs = await import("node:fs");
  let entries = 0;
  const start = performance.now();
  for (let i = 0; i < count; i++) entries += fs.readdirSync(`${folder}/many`).length;
  const took = performance.now() - start;
  if (entries === 0) throw new Error("nothing was listed");
  return took;
}

export interface ManyFiles {
  /** Made for them. */
  folder: string;
  files: number;
  bytes: number;
  /** At once; as many threads must be there (UV_THREADPOOL_SIZE). */
  writers: number;
}

export interface FileTimes {
  tookMs: number;
  /** From each open to its close. */
  fileMs: number[];
}

/** New files, each opened, written and closed by one of several writers. */
export async function writeMany({ folder, files, bytes, writers }: ManyFiles): Promise<FileTimes> {
  const { mkdirSync } = await import("node:fs");
  const { open } = await import("node:fs/promises");
  const { randomBytes } = await import("node:crypto");
  mkdirSync(folder);
  const contents = Array.from({ length: files }, () => randomBytes(bytes));
  const fileMs: number[] = [];
  let next = 0;
  const writer = async (): Promise<void> => {
    for (let index = next++; index < files; index = next++) {
      const beganMs = performance.now();
      const file = await open(`${folder}/${index}`, "w");
      await file.write(contents[index] as Buffer);
      await file.close();
      fileMs.push(performance.now() - beganMs);
    }
  };
  const startMs = performance.now();
  await Promise.all(Array.from({ length: writers }, writer));
  return { tookMs: performance.now() - startMs, fileMs };
}
