// Drives of Windows: each is gone with its process, and the system has no table that could be read without touching
// them. Those of this process are noted, since it must not touch them; the others are letters that are in use.
import { type MountTableEntry, RunnelError } from "@runnel/shared/base";
import type { Life, MountTable } from "../mount-table.ts";

export class WindowsMountTable implements MountTable {
  readonly #letters = new Set<string>();

  /** Entries have the words by which [isRunnelMount] knows them. */
  read(): Promise<MountTableEntry[]> {
    const letters = [...this.#letters];
    return Promise.resolve(
      letters.map((mountpoint) => ({ mountpoint, device: "", fileSystem: "fuse.winfsp", source: "runnel:" })),
    );
  }

  probe(): Promise<Life> {
    return Promise.resolve("alive");
  }

  detach(mountpoint: string): Promise<void> {
    const sentence = `${mountpoint} is a drive of a program that runs. End it there.`;
    return Promise.reject(new RunnelError("Busy", "detach a dead mount", sentence));
  }

  endWithProcess(mountpoint: string): Promise<Disposable> {
    this.#letters.add(mountpoint);
    return Promise.resolve({ [Symbol.dispose]: () => void this.#letters.delete(mountpoint) });
  }
}
