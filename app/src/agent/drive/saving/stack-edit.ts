// Stacks one edit over another, neither of which the server has: the older one's layers below the newer one's, over the
// version that the older one edited.
import type { ByteRange } from "@runnel/native/drive";
import type { JournalCommit } from "../../journal/journal.ts";

/**
 * Difference between a content and what it was edited of: the first `baseBytes` of that, then zeros, over both the
 * layers.
 */
export type Edit = Pick<JournalCommit, "baseBytes" | "sizeBytes" | "mtimeNs" | "ctimeNs" | "layers">;

/**
 * Stacks `edit` over `below`. Each file of `below` stays named, also where nothing of it shows: what others have over
 * it needs it.
 */
export function stackEdit(below: Edit, edit: Edit): Edit {
  const layers = below.layers.map(({ file, extents }) => ({ file, extents: cutAt(extents, edit.baseBytes) }));
  return { ...edit, baseBytes: Math.min(below.baseBytes, edit.baseBytes), layers: [...layers, ...edit.layers] };
}

function cutAt(extents: readonly ByteRange[], end: number): ByteRange[] {
  return extents.flatMap(({ offset, length }) =>
    offset >= end ? [] : [{ offset, length: Math.min(length, end - offset) }],
  );
}
