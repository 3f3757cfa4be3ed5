// Both executors of core.node against the contract, and against each other.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DiskFile, DiskRoot, Executor } from "@runnel/shared";
import { executorContract } from "@runnel/shared/test/contracts/executor-contract.ts";
import type { ExecutorUnderTest } from "@runnel/shared/test/contracts/executor-contract.ts";
import { inlineExecutor, realDisk, threadExecutor } from "../index.ts";

/** `seenAs` is how the executor gets to see the files. */
function onRealFiles(
  makeExecutor: () => Executor,
  seenAs: (file: DiskFile) => DiskFile = (file) => file,
  rootSeenAs: (root: DiskRoot) => DiskRoot = (root) => root,
): () => Promise<ExecutorUnderTest> {
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), "runnel-executor-"));
    const root = await realDisk().openRoot(folder);
    const files: DiskFile[] = [];
    return {
      executor: makeExecutor(),
      root: rootSeenAs(root),
      async makeFile(bytes) {
        const file = await root.open(`file-${files.length}`, "createNew");
        files.push(file);
        await file.write(0, bytes);
        return seenAs(file);
      },
      async dispose() {
        await Promise.all(files.map((file) => file.close()));
        await root.close();
        await rm(folder, { recursive: true });
      },
    };
  };
}

/** A file of another engine: it can be read, but has no descriptor that the addon could use. */
const withoutDescriptor = (file: DiskFile): DiskFile =>
  ({ fd: -1, read: (offset: number, length: number) => file.read(offset, length) }) as DiskFile;

executorContract("threads", onRealFiles(threadExecutor));
executorContract("threads, files without a descriptor", onRealFiles(threadExecutor, withoutDescriptor));
executorContract("inline", onRealFiles(inlineExecutor));
