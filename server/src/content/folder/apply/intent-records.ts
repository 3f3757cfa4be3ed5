// IntentRecords: the handles logged for commits that are about to put a file in place, until they are applied. After an
// interruption they tell our own files from other programs', wherever a later commit has moved them [F28].
import type { DiskRoot } from "@runnel/shared";
import type { AcceptedCommit, ContentCallbacks } from "../../content-store.ts";
import { contentOf } from "../versions/pending-contents.ts";
import type { Preparation } from "./batch-preparer.ts";
import { pathOfTemp } from "./prepare.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { TEMP_FOLDER, tempPath } from "../disk/store-layout.ts";

export class IntentRecords {
  readonly bySeq: Map<number, Uint8Array>;

  constructor(handles: ReadonlyMap<number, Uint8Array>) {
    this.bySeq = new Map(handles);
  }

  /**
   * Logs those of a batch that are not yet. What they are of is durable in temp/ before, and they are before anything
   * gets into the tree.
   */
  async note(
    root: DiskRoot,
    callbacks: Pick<ContentCallbacks, "recordIntent">,
    batch: readonly AcceptedCommit[],
    preparations: readonly Preparation[],
  ): Promise<void> {
    const notes: { seq: number; handle: Uint8Array }[] = [];
    for (const [index, each] of preparations.entries()) {
      const seq = batch[index]?.seq ?? 0;
      const handle = handleOf(each);
      if (handle !== undefined && !this.bySeq.has(seq)) notes.push({ seq, handle });
    }
    if (notes.length === 0) return;
    await root.syncFolder(TEMP_FOLDER);
    await Promise.all(notes.map(({ seq, handle }) => callbacks.recordIntent(seq, handle)));
    for (const { seq, handle } of notes) this.bySeq.set(seq, handle);
  }

  /** Path that a file had before it was put in place. */
  tempOf(handle: Uint8Array, notInPlace: Iterable<AcceptedCommit>): string | undefined {
    for (const [seq, intent] of this.bySeq) {
      if (!isSameHandle(intent, handle)) continue;
      const commit = Iterator.from(notInPlace).find((one) => one.seq === seq);
      const content = commit && contentOf(commit);
      return content === undefined ? tempPath(seq, "new") : pathOfTemp(seq, content);
    }
    return undefined;
  }

  /** A content of a node that was about to be put in place, with its path before. */
  contentOf(node: number, notInPlace: Iterable<AcceptedCommit>): { handle: Uint8Array; path: string } | undefined {
    for (const commit of notInPlace) {
      const content = contentOf(commit);
      const handle = this.bySeq.get(commit.seq);
      if (content?.version.node === node && handle !== undefined)
        return { handle, path: pathOfTemp(commit.seq, content) };
    }
    return undefined;
  }
}

function handleOf(prepared: Preparation): Uint8Array | undefined {
  // The handle of a first content is that of its own commit.
  if (prepared.kind === "made") return prepared.filled === undefined ? prepared.handle : undefined;
  return prepared.kind === "filled" ? prepared.temp.handle : undefined;
}
