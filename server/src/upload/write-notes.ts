// Format of the notes beside a staged file [F33]: which write it is, then the items that are here whole, in order; all
// that the next process needs to resume it.
import type { ChunkPreset, Recipe } from "@runnel/shared";
import { RunnelError, check, decodeCbor, decodeRecipe, encodeCbor, encodeRecipe } from "@runnel/shared";
import { z } from "zod";
import type { Reference } from "./references.ts";

const FORMAT = 1;

/** Operation of the write, and what it announced when it was opened. */
export interface WriteOpening {
  epoch: string;
  /** The device that writes; "" where devices are not told apart. */
  device: string;
  instance: string;
  n: number;
  sizeBytes: number;
  preset: ChunkPreset;
}

/**
 * Item that is whole: `c` and `h` as they were received; `d` for new data of these chunks, in the staged file at its
 * place; `f` when the data of that `c` or `h` are there now, too.
 */
export type ItemNote = Reference | ["d", Recipe] | ["f", number];

const count = z.number().int().min(0);
const version = z.object({ node: count, seq: count });
const bytes = z.instanceof(Uint8Array);
const OPENING = z.object({
  format: z.literal(FORMAT),
  epoch: z.string(),
  device: z.string(),
  instance: z.string(),
  n: count,
  sizeBytes: count,
  preset: z.literal([0, 1, 2, 3, 4]),
});
const ITEM = z.union([
  z.tuple([z.literal("c"), version, count, count]),
  z.tuple([z.literal("h"), bytes, version.nullable(), count]),
  z.tuple([z.literal("d"), bytes]),
  z.tuple([z.literal("f"), count]),
]);

export function encodeOpening(opening: WriteOpening): Uint8Array {
  return encodeCbor({ format: FORMAT, ...opening });
}

export function encodeItem(item: ItemNote): Uint8Array {
  return encodeCbor(item[0] === "d" ? ["d", encodeRecipe(item[1])] : item);
}

/** @returns undefined for a note of another format, or of none. */
export function decodeOpening(note: Uint8Array): WriteOpening | undefined {
  return orNone(() => {
    const { format: _format, ...opening } = check(OPENING, decodeCbor(note), "opening of a staged write");
    return opening;
  });
}

/** @returns undefined like decodeOpening. */
export function decodeItem(note: Uint8Array): ItemNote | undefined {
  return orNone(() => {
    const item = check(ITEM, decodeCbor(note), "item of a staged write");
    return item[0] === "d" ? ["d", decodeRecipe(item[1])] : item;
  });
}

function orNone<T>(decode: () => T): T | undefined {
  try {
    return decode();
  } catch (error) {
    if (error instanceof RunnelError) return undefined;
    throw error;
  }
}
