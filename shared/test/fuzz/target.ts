// A fuzz target: something that takes bytes from outside.

/**
 * Parts of its inputs, so that mistakes are made in them and not only in their bytes: one CBOR item, a list of messages
 * (message-list.ts), or nothing but bytes.
 */
export type Structure = "bytes" | "cbor" | "messages";

export interface FuzzTarget {
  structure: Structure;
  /** Recorded inputs that keep all rules. */
  seeds: readonly Uint8Array[];
  /** Bytes before the item of "cbor", and of each message. */
  headBytes?: number;
  /** Returns, or throws a RunnelError: all else is a finding. */
  run(input: Uint8Array): void | Promise<void>;
}

/** The export `targets` of a module of targets, by name. */
export type Targets = Readonly<Record<string, () => FuzzTarget | Promise<FuzzTarget>>>;

/** Throws when an invariant of a target does not hold. */
export function requireThat(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`Broken: ${what}`);
}
