// A content that lies in several files: what shows of a base, and the layers written over it. It is read where it lies;
// only to be kept is it made one file.
import type { ByteRange } from "@runnel/native/drive";
import type { DiskFile, DiskRoot, Piece } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { Edit } from "../cache/cache.ts";

const SMALL_BYTES = 16 * 1024;

export interface Layer {
  /** Relative to the journal's data folder. */
  file: string;
  extents: readonly ByteRange[];
}

/** The base may have rotted where it lies, and need not be here whole. */
export interface BaseVerification {
  /** Parts of the range that nobody has compared with what they should be, or that are not here. */
  unverified(range: ByteRange): ByteRange[];
  /** Parts of the range that are not here. */
  absent(range: ByteRange): ByteRange[];
  /** Compares, puts right what is not, and brings what is not here. */
  verify(range: ByteRange): Promise<unknown>;
}

export interface Composition {
  base: DiskFile | undefined;
  verification?: BaseVerification;
  /** Bytes of the base that show through. */
  baseBytes: number;
  sizeBytes: number;
  layers: readonly Layer[];
}

/** A content so small that it is read at once: to open a file takes longer. */
export class BytesFile {
  /** It has no descriptor. */
  readonly fd = -1;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  async read(offset: number, length: number, into: Uint8Array = new Uint8Array(length)): Promise<Uint8Array> {
    const bytes = this.#bytes.subarray(offset, offset + length);
    into.set(bytes);
    return into.subarray(0, bytes.length);
  }
}

export interface ContentPiece extends Piece {
  file: DiskFile | BytesFile | undefined;
}

/** Keeps its files open until `close`; the base's is closed with them. */
export class ComposedContent {
  readonly pieces: readonly ContentPiece[];
  readonly sizeBytes: number;
  readonly #files: readonly DiskFile[];
  readonly #base: { file: DiskFile; verification: BaseVerification } | undefined;
  readonly #starts: number[] = [];

  constructor(
    pieces: readonly ContentPiece[],
    files: readonly DiskFile[],
    base?: { file: DiskFile | undefined; verification: BaseVerification | undefined },
  ) {
    this.pieces = pieces;
    this.#files = files;
    if (base?.file !== undefined && base.verification !== undefined)
      this.#base = { file: base.file, verification: base.verification };
    let at = 0;
    for (const piece of pieces) {
      this.#starts.push(at);
      at += piece.length;
    }
    this.sizeBytes = at;
  }

  /** Fills `into` with the bytes from `offset` on. @throws Io when a file is shorter than it was. */
  async read(offset: number, into: Uint8Array): Promise<void> {
    await this.verify(offset, into.length);
    let at = 0;
    for (const { file, offset: from, length } of this.slice(offset, into.length)) {
      const part = into.subarray(at, at + length);
      if (file === undefined) part.fill(0);
      else if ((await file.read(from, length, part)).length !== length)
        throw new RunnelError("Io", "upload", "A file to be sent is shorter than it was.");
      at += length;
    }
  }

  /**
   * Verifies what shows of the base in the range, before others read it. @returns true when some of it was unverified:
   * its bytes may be others now.
   */
  async verify(offset: number, length: number): Promise<boolean> {
    const unverified = this.unverified(offset, length);
    for (const range of unverified) await this.#base?.verification.verify(range);
    return unverified.length > 0;
  }

  /** Parts of the range that are the base's, and may have rotted or are not here. */
  unverified(offset: number, length: number): ByteRange[] {
    return this.#ofBase(offset, length).flatMap((piece) => this.#base?.verification.unverified(piece) ?? []);
  }

  /** Ranges of the whole that are not here: zeros stand for them. */
  absent(): ByteRange[] {
    return this.#ofBase(0, this.sizeBytes).flatMap((piece) => this.#base?.verification.absent(piece) ?? []);
  }

  /** The base shows at the offsets that it has. */
  #ofBase(offset: number, length: number): ContentPiece[] {
    const base = this.#base;
    if (base === undefined) return [];
    return this.slice(offset, length).filter((piece) => piece.file === base.file);
  }

  /** The pieces of a range. */
  slice(offset: number, length: number): ContentPiece[] {
    const end = offset + length;
    const pieces: ContentPiece[] = [];
    for (let index = this.#pieceAt(offset); index < this.pieces.length; index++) {
      const piece = this.pieces[index];
      const start = this.#starts[index] ?? 0;
      if (piece === undefined || start >= end) break;
      const skipped = Math.max(0, offset - start);
      const count = Math.min(piece.length, end - start) - skipped;
      if (count > 0) pieces.push({ file: piece.file, offset: piece.offset + skipped, length: count });
    }
    return pieces;
  }

  /** The edit that makes it of its base, where it has one: zeros are only behind what shows of that. */
  asEdit(): Edit {
    let keptBytes = 0;
    const pieces: Edit["pieces"][number][] = [];
    for (const [index, { file, offset: from, length }] of this.pieces.entries()) {
      const offset = this.#starts[index] ?? 0;
      // Bytes in memory have no base: they are no edit.
      if (file === undefined || file instanceof BytesFile) continue;
      if (file === this.#base?.file) keptBytes = offset + length;
      else pieces.push({ file, from, offset, length });
    }
    return { keptBytes, pieces };
  }

  /**
   * Writes the whole to `target` (empty before). Holes stay holes, and so does what is not here. @returns ranges that
   * were not here, and are not in it: they may have come meanwhile.
   */
  async copyTo(target: DiskFile): Promise<ByteRange[]> {
    await target.truncate(this.sizeBytes);
    const absent = this.absent();
    let at = 0;
    for (const gap of [...absent, { offset: this.sizeBytes, length: 0 }]) {
      for (const piece of this.slice(at, gap.offset - at)) {
        if (piece.file !== undefined) await copyPiece(piece.file, piece, target, at);
        at += piece.length;
      }
      at = gap.offset + gap.length;
    }
    return absent;
  }

  async close(): Promise<void> {
    await Promise.all(this.#files.map((file) => file.close()));
  }

  #pieceAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

async function copyPiece(file: DiskFile | BytesFile, piece: Piece, target: DiskFile, start: number): Promise<void> {
  if (file instanceof BytesFile) return target.write(start, await file.read(piece.offset, piece.length));
  for (let done = 0; done < piece.length;) {
    const copied = await target.copyFrom(file, piece.offset + done, start + done, piece.length - done);
    if (copied === 0) throw new RunnelError("Io", "keep content", "A file to be kept is shorter than it was.");
    done += copied;
  }
}

/** Takes over `of.base`, which is closed also when this fails. */
export async function openComposed(data: DiskRoot, of: Composition): Promise<ComposedContent> {
  const files: DiskFile[] = of.base === undefined ? [] : [of.base];
  try {
    const shown = of.base === undefined ? 0 : Math.min(of.baseBytes, of.sizeBytes);
    let pieces = joined([
      { file: of.base, offset: 0, length: shown },
      { file: undefined, offset: 0, length: of.sizeBytes - shown },
    ]);
    const small = await readSmall(data, of);
    if (small !== undefined) return new ComposedContent([{ file: small, offset: 0, length: of.sizeBytes }], []);
    for (const layer of of.layers) {
      if (layer.extents.length === 0) continue;
      const file = await data.open(layer.file, "read");
      files.push(file);
      pieces = overlaid(pieces, file, layer.extents, of.sizeBytes);
    }
    return new ComposedContent(pieces, files, { file: of.base, verification: of.verification });
  } catch (error) {
    await Promise.all(files.map((file) => file.close()));
    throw error;
  }
}

/** Reads a small content that is one layer. @returns undefined for another one. */
async function readSmall(data: DiskRoot, of: Composition): Promise<BytesFile | undefined> {
  const layer = wholeLayer(of);
  if (layer === undefined || of.base !== undefined || !isReadAtOnce(of)) return undefined;
  return new BytesFile(await data.readFile(layer.file, of.sizeBytes));
}

/** Ranges in which the content may differ from the base. */
export function dirtyRanges(of: Omit<Composition, "base">): ByteRange[] {
  const shown = Math.min(of.baseBytes, of.sizeBytes);
  return [{ offset: shown, length: of.sizeBytes - shown }, ...of.layers.flatMap((layer) => layer.extents)];
}

/** Says that it is small and lies in one layer: no file stays open for it. */
export function isReadAtOnce(of: Omit<Composition, "base">): boolean {
  return of.sizeBytes > 0 && of.sizeBytes <= SMALL_BYTES && wholeLayer(of) !== undefined;
}

/** The layer that holds every byte, if one does and nothing of others shows: its file is the content. */
export function wholeLayer({
  layers,
  sizeBytes,
}: Omit<Composition, "base">): Composition["layers"][number] | undefined {
  const [layer, ...others] = layers.filter(({ extents }) => extents.length > 0);
  if (layer === undefined || others.length > 0) return undefined;
  let end = 0;
  for (const extent of layer.extents) {
    if (extent.offset > end) return undefined;
    end = Math.max(end, extent.offset + extent.length);
  }
  return end >= sizeBytes ? layer : undefined;
}

/** `file` shows at its extents (ascending), at the offsets they have in it. */
function overlaid(
  below: readonly ContentPiece[],
  file: DiskFile,
  extents: readonly ByteRange[],
  sizeBytes: number,
): ContentPiece[] {
  const content = new ComposedContent(below, []);
  const pieces: ContentPiece[] = [];
  let at = 0;
  for (const extent of extents) {
    const offset = Math.max(at, extent.offset);
    const end = Math.min(extent.offset + extent.length, sizeBytes);
    if (end <= offset) continue;
    pieces.push(...content.slice(at, offset - at), { file, offset, length: end - offset });
    at = end;
  }
  return joined([...pieces, ...content.slice(at, sizeBytes - at)]);
}

function joined(pieces: readonly ContentPiece[]): ContentPiece[] {
  const result: ContentPiece[] = [];
  for (const piece of pieces) {
    if (piece.length === 0) continue;
    const last = result.at(-1);
    const goesOn =
      last?.file === piece.file && (piece.file === undefined || last?.offset === piece.offset - (last?.length ?? 0));
    if (last !== undefined && goesOn) last.length += piece.length;
    else result.push({ ...piece });
  }
  return result;
}
