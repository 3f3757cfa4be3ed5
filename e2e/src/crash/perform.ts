// The programs of a workload, in a process of their own: one program beside the other, each step logged (a line
// "PROGRAM INDEX") once the system has said that it succeeded. A program ends at its first failure (a line "PROGRAM
// INDEX CODE"). argv: FOLDER SEED PROGRAMS LOG; a program's folder is FOLDER/PROGRAM, which it makes. The last change
// of all makes a folder FOLDER.end.
import { writeSync, openSync } from "node:fs";
import { chmod, link, mkdir, open, rename, rmdir, symlink, truncate, unlink } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Step, stepsOf, written } from "./workload.ts";

const PIECE_BYTES = 200_000;
const OFFLINE_MS = 60_000;
const AGAIN_MS = 50;

async function perform(folder: string, seed: string, index: number, step: Step): Promise<void> {
  const path = join(folder, step.path);
  switch (step.do) {
    case "save": {
      const file = await open(path, "w", 0o644);
      try {
        const content = written(seed, index, 0, step.bytes);
        for (let at = 0; at < content.length; at += PIECE_BYTES)
          await file.write(content, at, Math.min(PIECE_BYTES, content.length - at), at);
        if (step.isSynced) await file.sync();
      } finally {
        await file.close();
      }
      return;
    }
    case "edit": {
      const file = await open(path, "r+");
      try {
        for (const [edit, { offset, bytes }] of step.edits.entries())
          await file.write(written(seed, index, edit, bytes), 0, bytes, offset);
        await file.sync();
      } finally {
        await file.close();
      }
      return;
    }
    case "mkdir":
      return mkdir(path, 0o755).then(() => undefined);
    case "rmdir":
      return rmdir(path);
    case "unlink":
      return unlink(path);
    case "rename":
      return rename(path, join(folder, step.to));
    case "link":
      return link(path, join(folder, step.to));
    case "symlink":
      return symlink(step.target, path);
    case "chmod":
      return chmod(path, step.mode);
    case "truncate":
      return truncate(path, step.bytes);
  }
}

/** Offline, changes are refused before anything is done: as a person does, it is tried again. */
async function persistently(act: () => Promise<void>): Promise<void> {
  const untilMs = performance.now() + OFFLINE_MS;
  for (;;) {
    try {
      return await act();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EROFS" || performance.now() > untilMs) throw error;
    }
    await setTimeout(AGAIN_MS);
  }
}

/** mkdir -p of Node would hide EROFS: it looks then whether the folder is there, and tells how that failed. */
async function makeFolder(path: string): Promise<void> {
  await persistently(async () => {
    await mkdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  });
}

async function program(folder: string, seed: string, number: number, log: number): Promise<void> {
  const own = join(folder, String(number));
  let index = -1;
  try {
    await makeFolder(folder);
    await makeFolder(own);
    for (const step of stepsOf(number)) {
      index++;
      await persistently(() => perform(own, `${seed}/${number}`, index, step));
      writeSync(log, `${number} ${index}\n`);
    }
  } catch (error) {
    writeSync(log, `${number} ${index} ${(error as NodeJS.ErrnoException).code ?? String(error)}\n`);
  }
}

const [folder = "", seed = "", programs = "1", logPath = ""] = process.argv.slice(2);
process.umask(0o022);
const log = openSync(logPath, "a");
await Promise.all(Array.from({ length: Number(programs) }, (_, number) => program(folder, seed, number, log)));
await persistently(() => mkdir(`${folder}.end`)).catch(() => undefined);
