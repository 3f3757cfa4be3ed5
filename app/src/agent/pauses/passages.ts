// Tells whoever sends or fetches something of a drive what of it is paused.

/** Something that is under way of what may be paused. */
export interface Passage extends Disposable {
  /** Aborted with a RunnelError, Unreachable, when it is paused. */
  readonly signal: AbortSignal;
}

export interface Passages {
  /** Nothing is paused. */
  readonly isEmpty: boolean;
  /** Says that these nodes, by any of their names, or this path, are or lie in something that is paused. */
  isPaused(nodes: readonly number[], path?: string): boolean;
  /** Says for a person why nothing of them is sent or fetched; undefined: they are not paused. */
  why(nodes: readonly number[], path?: string): string | undefined;
  /** Begins to send or fetch something of them; ends with the disposal. @throws Unreachable when it is paused. */
  enter(operation: string, nodes: readonly number[], path?: string): Passage;
}
