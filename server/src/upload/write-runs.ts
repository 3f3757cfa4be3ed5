// Runs of a content that is being written: where its bytes are. Pure.
import type { Run } from "../meta/meta-store.ts";

/** Turns a run of data for the log record into one of the staged file, at the offset it has in the content. */
export function toTemp(run: Run): Run {
  return run.from === "log" ? { from: "temp", length: run.length } : run;
}

/** Joins neighbouring runs of one source. */
export function joinRuns(runs: readonly Run[]): Run[] {
  const joined: Run[] = [];
  for (const run of runs) {
    const last = joined.at(-1);
    if (last?.from === "log" && run.from === "log" && last.at + last.length === run.at) last.length += run.length;
    else if (last?.from === "temp" && run.from === "temp") last.length += run.length;
    else if (
      last?.from === "version" &&
      run.from === "version" &&
      last.version.node === run.version.node &&
      last.version.seq === run.version.seq &&
      last.offset + last.length === run.offset
    ) {
      last.length += run.length;
    } else joined.push({ ...run });
  }
  return joined;
}
