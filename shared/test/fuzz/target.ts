// What is fuzzed: something that takes bytes from outside.

/**
 * How its inputs are made of parts, so that mistakes are made in them and not only in their bytes: one CBOR item, a list of messages (message-list.ts), or
 * nothing but bytes.
 */
export type Structure = "bytes" | "cbor" | "messages";

export interface FuzzTarget {
  structure: Structure;
  /** Recorded inputs that keep all rules. */
  seeds: readonly Uint8Array[];
  /** Of "cbor", and of each message: bytes before the item. */
  headBytes?: number;
  /** Returns, or throws a RunnelError: all else is a finding. */
  run(input: Uint8Array): void | Promise<void>;
}

/** What a module of targets exports as `targets`, by name. */
export type Targets = Readonly<Record<string, () => FuzzTarget | Promise<FuzzTarget>>>;

/** What a target says of an invariant that does not hold. */
export function must(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`Broken: ${what}`);
}
