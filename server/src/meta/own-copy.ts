// Deep copies of what passes between a store and its callers, so that neither sees the other's later changes. A view on
// part of a buffer becomes a buffer of its own: postMessage would send all of what lies under it.
import { types } from "node:util";

function copyMap(map: ReadonlyMap<unknown, unknown>): Map<unknown, unknown> {
  return new Map([...map].map(([key, item]) => [key, ownCopy(item)]));
}

function copyObject(value: object): object {
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = ownCopy(item);
  return copy;
}

/** Copies plain objects, arrays, maps, bytes, 32-bit numbers, and what needs no copy. */
export function ownCopy<T>(value: T): T;
export function ownCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => ownCopy(item));
  if (types.isUint8Array(value)) return new Uint8Array(value);
  if (types.isUint32Array(value)) return new Uint32Array(value);
  return types.isMap(value) ? copyMap(value) : copyObject(value);
}
