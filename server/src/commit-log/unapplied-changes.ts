// Tells what a volume's data has acknowledged that its plain folder does not show: what is lost from the tree when the
// two part.
import type { DiskRoot } from "@runnel/shared";
import { isRunnelError, openLog } from "@runnel/shared";
import { appliedCommits } from "../meta/is-applied.ts";
import type { MetaStore } from "../meta/meta-store.ts";
import { COMMIT_LOG_FORMAT, commitsOf, decodeRecord, isExternal } from "./record.ts";

const LOG_FOLDER = "log";

export interface UnappliedChanges {
  changes: number;
  /** Paths at which they were made, each once. */
  paths: string[];
}

/** The index says it best; without it the log's own notes are asked. undefined: the log cannot be read. */
export async function readUnappliedChanges(
  data: DiskRoot,
  meta: MetaStore | undefined,
): Promise<UnappliedChanges | undefined> {
  try {
    const { log } = await openLog(data, LOG_FOLDER, COMMIT_LOG_FORMAT);
    try {
      let appliedSeq = 0;
      const isApplied = meta === undefined ? (seq: number) => seq <= appliedSeq : await appliedCommits(meta);
      const commits: { seq: number; path: string }[] = [];
      await log.replay(({ payload }) => {
        const { record } = decodeRecord(payload);
        if (record.kind === "up") appliedSeq = record.seq;
        for (const { seq, operation, change, paths } of commitsOf(record))
          if (change !== undefined && !isExternal(operation)) commits.push({ seq, path: paths?.path ?? "" });
      });
      const left = commits.filter(({ seq }) => !isApplied(seq));
      const paths = [...new Set(left.map(({ path }) => path).filter((path) => path !== ""))];
      return { changes: left.length, paths };
    } finally {
      await log.close();
    }
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return undefined;
  }
}
