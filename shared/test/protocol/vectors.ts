// The golden bytes of the wire, as values of this language.
import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface FrameVector {
  name: string;
  kind: number;
  channel: number;
  /** Message of a frame with CBOR in it. */
  message?: unknown;
  /** Hex, of the others. */
  payload?: string;
  /** The form that the message, or the request in it, or the result, has. */
  schema?: string;
  hex: string;
}

interface Vectors {
  varints: { value: number; hex: string }[];
  cbor: { value: unknown; hex: string }[];
  states: { packed: unknown; hex: string }[];
  recipe: { chunks: [number, string][]; hex: string; oid: string; emptyOid: string };
  frames: FrameVector[];
}

const file = join(import.meta.dirname, "../../vectors/protocol-1.json");

export const vectors = JSON.parse(readFileSync(file, "utf8")) as Vectors;

/** JSON has neither bytes nor 64-bit integers: {"hex"} and {"big"} stand for them. */
export function valueOf(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(valueOf);
  if (typeof json !== "object" || json === null) return json;
  const { big, hex } = json as { big?: string; hex?: string };
  if (big !== undefined) return BigInt(big);
  if (hex !== undefined) return fromHex(hex);
  return Object.fromEntries(Object.entries(json).map(([key, value]) => [key, valueOf(value)]));
}

export function fromHex(hex: string): Uint8Array {
  return new Uint8Array(Buffer.from(hex, "hex"));
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}
