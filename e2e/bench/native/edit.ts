// Measures the cost of finding the chunks of a large file after one byte of it changed, beside cutting all of it.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { realDisk, threadExecutor } from "@runnel/native";
import { median } from "../benchmark.ts";
import { randomBytes } from "./contents.ts";

export interface EditFigures {
  fileBytes: number;
  /** After the edit. */
  bytesRead: number;
  cpuMs: number;
  /** Time to cut the whole. */
  wholeCpuMs: number;
}

async function cpuMs(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

export async function measureEdit(fileBytes: number, rounds: number): Promise<EditFigures> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-bench-"));
  const root = await realDisk().openRoot(folder);
  const file = await root.open("file", "createNew");
  const executor = threadExecutor();
  try {
    await file.write(0, randomBytes(fileBytes, 2));
    const { lengths } = await executor.chunkFile(file, 0, fileBytes);
    const edits: number[] = [];
    const wholes: number[] = [];
    let bytesRead = 0;
    for (let round = 0; round < rounds; round++) {
      const offset = Math.floor((fileBytes * (round + 1)) / (rounds + 1));
      await file.write(offset, Uint8Array.of(round));
      const content = [{ file, offset: 0, length: fileBytes }];
      const again = async (): Promise<void> => {
        const rechunked = await executor.rechunk(content, lengths, [{ offset, length: 1 }]);
        bytesRead = Math.max(bytesRead, rechunked.bytesRead);
      };
      edits.push(await cpuMs(again));
      wholes.push(await cpuMs(() => executor.chunkFile(file, 0, fileBytes)));
    }
    return { fileBytes, bytesRead, cpuMs: median(edits), wholeCpuMs: median(wholes) };
  } finally {
    await file.close();
    await root.close();
    await rm(folder, { recursive: true });
  }
}
