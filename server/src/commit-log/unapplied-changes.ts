// Tells what a volume's data has acknowledged that its plain folder does not show: what is lost from the tree when the
// two part.
import type { DiskRoot } from "@runnel/shared";
import { isRunnelError, openLog } from "@runnel/shared";
import { appliedCommits } from "../meta/is-applied.ts";
import type { MetaStore } from "../meta/meta-store.ts";
import { COMMIT_LOG_FORMAT, commitsAt, decodeRecord, isExternal } from "./record.ts";

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
      let rest = { seq: 0, seqs: new Set<number>() };
      const isNoted = (seq: number): boolean => seq <= appliedSeq || (seq <= rest.seq && !rest.seqs.has(seq));
      const isApplied = meta === undefined ? isNoted : await appliedCommits(meta);
      const pathOf = new Map<number, string>();
      await log.replay(({ payload }) => {
        const { record } = decodeRecord(payload);
        if (record.kind === "up") appliedSeq = record.seq;
        if (record.kind === "rest") rest = { seq: record.seq, seqs: new Set(record.seqs) };
        for (const { seq, operation, change, paths } of commitsAt(record))
          if (change !== undefined && !isExternal(operation)) pathOf.set(seq, paths?.path ?? "");
      });
      const left = [...pathOf].filter(([seq]) => !isApplied(seq)).toSorted(([one], [other]) => one - other);
      const paths = [...new Set(left.map(([, path]) => path).filter((path) => path !== ""))];
      return { changes: left.length, paths };
    } finally {
      await log.close();
    }
  } catch (error) {
    if (!isRunnelError(error)) throw error;
    return undefined;
  }
}
