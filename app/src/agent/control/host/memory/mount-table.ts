// Mounts in memory: a test says which drives there are, and when their process dies.
import { type MountTableEntry, RunnelError } from "@runnel/shared/base";
import type { Life, MountTable } from "../mount-table.ts";

interface MemoryMount {
  entry: MountTableEntry;
  life: Life;
}

export class MemoryMountTable implements MountTable {
  #mounts: MemoryMount[] = [];
  readonly #watched = new Set<string>();
  /** The system's reason why no drive can be watched over; undefined where they can. */
  watchFailure: Error | undefined;

  /** Drives whose connection ends with this process, in the order in which that was asked for. */
  get watched(): string[] {
    return [...this.#watched];
  }

  /** Shows a drive at a place, on top of what may be there. */
  mount(mountpoint: string): void {
    const entry = { mountpoint, device: `0:${this.#mounts.length + 1}`, fileSystem: "fuse.memory", source: "runnel:" };
    this.#mounts.push({ entry, life: "alive" });
  }

  /** Takes the drive on top away, as its agent does that unmounts it. */
  unmount(mountpoint: string): void {
    const top = this.#top(mountpoint);
    this.#mounts = this.#mounts.filter((mount) => mount !== top);
  }

  /** Ends the process of all drives: they stay, and are dead. */
  die(): void {
    this.#watched.clear();
    for (const mount of this.#mounts) mount.life = "dead";
  }

  read(): Promise<MountTableEntry[]> {
    return Promise.resolve(this.#mounts.map(({ entry }) => entry));
  }

  probe(mountpoint: string): Promise<Life> {
    return Promise.resolve(this.#top(mountpoint)?.life ?? "alive");
  }

  detach(mountpoint: string): Promise<void> {
    if (this.#top(mountpoint)?.life !== "dead")
      return Promise.reject(new RunnelError("Busy", "detach a dead mount", `No dead drive is at ${mountpoint}.`));
    this.unmount(mountpoint);
    return Promise.resolve();
  }

  endWithProcess(mountpoint: string): Promise<Disposable> {
    if (this.watchFailure !== undefined) return Promise.reject(this.watchFailure);
    if (this.#top(mountpoint) === undefined) return Promise.resolve({ [Symbol.dispose]: () => undefined });
    this.#watched.add(mountpoint);
    return Promise.resolve({ [Symbol.dispose]: () => void this.#watched.delete(mountpoint) });
  }

  #top(mountpoint: string): MemoryMount | undefined {
    return this.#mounts.findLast(({ entry }) => entry.mountpoint === mountpoint);
  }
}
