// Interface to what the system knows of its own changes that end a line without a word: it slept, or its network is
// another one. What is to be done then is decided by those who watch.

/** "woke": the machine slept, or this process was halted. "network": its addresses are others. */
export type MachineChange = "woke" | "network";

export interface MachineChanges {
  /**
   * Tells of each change from now on, some seconds late at the most, and perhaps of one that was none; until it is
   * disposed of. `tell` must not throw.
   */
  watch(tell: (change: MachineChange) => void): Disposable;
}
