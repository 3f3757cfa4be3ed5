// Interface to what is mounted where, which is read without touching any mount: the agent must never touch its own (the
// kernel would wait for the agent, and the agent for the kernel), and a dead one answers nothing but errors.
import type { MountTableEntry } from "@runnel/shared/base";

/** Answer of a mount of Runnel: dead = the agent behind it has ended; alive also when it cannot be asked or is slow. */
export type Life = "alive" | "dead";

export interface MountTable {
  /** Every mount of this process's view, the one on top last. */
  read(): Promise<MountTableEntry[]>;
  /** Asks a mount from a process of its own, with a deadline. */
  probe(mountpoint: string): Promise<Life>;
  /**
   * Takes a dead mount off its mount point, the one on top of several, also while programs still hold files of it.
   * @throws RunnelError Busy
   */
  detach(mountpoint: string): Promise<void>;
  /**
   * Takes note of a drive of this process, until it is disposed of: once the process has died, its connection is ended.
   * The kernel of Linux does so itself, but for a process that dies while a thread of it waits there for a folder's
   * lock, to take a name away: the program that has the lock waits for an answer of the process, and both, and whoever
   * comes to the drive, would wait for ever.
   */
  endWithProcess(mountpoint: string): Promise<Disposable>;
}
