// Outcomes of preparing a commit, before it is put in place.
import type { AcceptedCommit, ByteRange } from "../../content-store.ts";
import type { FilledTemp } from "../staging/filled-temp.ts";
import type { PendingContent } from "../versions/pending-contents.ts";

export type Prepared =
  | {
      kind: "made";
      handle: Uint8Array;
      isPlaced: boolean;
      /** A file that is made with its first content, which the same batch has, in place of an empty one. */
      filled?: Filled;
    }
  | { kind: "filled"; content: PendingContent; temp: FilledTemp }
  /** Some of its bytes cannot be had any more; what there is lies at the path, if it is there still. */
  | { kind: "lost"; content: PendingContent; path: string; missing: readonly ByteRange[]; mayComeBack: boolean }
  /** Superseded by a later commit of the batch. */
  | { kind: "superseded"; content: PendingContent }
  | { kind: "nothing" };

/** A first content, whole in temp/, with the commit that brought it. */
export interface Filled {
  commit: AcceptedCommit;
  content: PendingContent;
  temp: FilledTemp;
}

/** Tells whether it is in the tree since before an interruption. */
export function isPlaced(prepared: Prepared): boolean {
  return prepared.kind === "made" ? prepared.isPlaced : prepared.kind === "filled" && prepared.temp.open === undefined;
}

/** Closes what was opened; the batch is over. */
export async function closePrepared(prepared: Prepared): Promise<void> {
  if (prepared.kind === "filled") await prepared.temp.open?.file.close();
}
