// Deep copies of what passes between a store and its callers, so that neither sees the other's later changes. A view on part of a buffer
// becomes a buffer of its own: postMessage would send all of what lies under it.

function copyArray(value: readonly unknown[]): unknown[] {
  return value.map((item) => ownCopy(item));
}

function copyObject(value: object): object {
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) copy[key] = ownCopy(item);
  return copy;
}

/** Of plain objects, arrays, maps, bytes and what needs no copy. */
export function ownCopy<T>(value: T): T;
export function ownCopy(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return copyArray(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (value instanceof Uint32Array) return new Uint32Array(value);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, ownCopy(item)]));
  return copyObject(value);
}
