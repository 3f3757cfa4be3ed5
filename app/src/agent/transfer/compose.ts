// Makes one file of a base and the layers written over it: what a commit sends and what the cache keeps afterwards.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, DiskRoot } from "@runnel/shared";

export interface Layer {
  /** Relative to the journal's data folder. */
  file: string;
  extents: readonly ByteRange[];
}

export interface Composition {
  base: DiskFile | undefined;
  /** How much of the base shows through. */
  baseBytes: number;
  sizeBytes: number;
  layers: readonly Layer[];
}

/** Writes the content to `target` (empty before). Holes stay holes: zero. */
export async function compose(data: DiskRoot, of: Composition, target: DiskFile): Promise<void> {
  const shown = Math.min(of.baseBytes, of.sizeBytes);
  if (of.base !== undefined && shown > 0) await copyAll(of.base, target, { offset: 0, length: shown });
  await target.truncate(of.sizeBytes);
  for (const layer of of.layers) {
    const overlay = await data.open(layer.file, "read");
    try {
      for (const extent of layer.extents) {
        const length = Math.min(extent.length, of.sizeBytes - extent.offset);
        if (length > 0) await copyAll(overlay, target, { offset: extent.offset, length });
      }
    } finally {
      await overlay.close();
    }
  }
}

/** True when one layer holds every byte: the overlay file is the content. */
export function isWholeLayer(of: Composition): boolean {
  const [layer] = of.layers;
  if (layer === undefined || of.layers.length !== 1) return false;
  let end = 0;
  for (const extent of layer.extents) {
    if (extent.offset > end) return false;
    end = Math.max(end, extent.offset + extent.length);
  }
  return end >= of.sizeBytes;
}

async function copyAll(from: DiskFile, to: DiskFile, range: ByteRange): Promise<void> {
  let done = 0;
  while (done < range.length) {
    const copied = await to.copyFrom(from, range.offset + done, range.offset + done, range.length - done);
    // The source ends early: what is missing reads as zero.
    if (copied === 0) return;
    done += copied;
  }
}
