// Presence: whether the folder at the root is the volume's. While it is not, nothing is read from it, nothing is put into it, and nothing is told
// as removed [F21].
import type { Clock, DiskRoot, Timer } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { DiskRows } from "./disk-rows.ts";
import { ROOT_ROW } from "./disk-rows.ts";
import { createMarker, readMarker, rootFault, FOLDER_FORMAT } from "./marker.ts";

/** How soon a folder that is back is noticed. */
const CHECK_MS = 2000;

export interface PresenceContext {
  root: DiskRoot;
  rows: DiskRows;
  clock: Clock;
  volume: string;
  /** It was served before, so its marker is expected. */
  wasServed: boolean;
  changed(reason: string | undefined): void;
}

export class Presence {
  readonly #context: PresenceContext;
  #reason: string | undefined;
  #timer: Timer | undefined;
  #isClosed = false;
  #hasMarker: boolean;

  constructor(context: PresenceContext) {
    this.#context = context;
    this.#hasMarker = context.wasServed;
  }

  get reason(): string | undefined {
    return this.#reason;
  }

  /** @throws Unavailable when the folder is not the volume's now; Version, when only a newer server can serve it. */
  async check(): Promise<void> {
    const reason = await this.#find();
    if (reason !== this.#reason) {
      this.#reason = reason;
      this.#context.changed(reason);
    }
    if (reason === undefined) return;
    this.#watchForReturn();
    throw new RunnelError("Unavailable", "check folder", reason);
  }

  /** Checks without an answer. */
  doubt(): void {
    this.check().catch(() => undefined);
  }

  async #find(): Promise<string | undefined> {
    const { root, rows, volume } = this.#context;
    try {
      const recorded = await rows.get(ROOT_ROW.folder, ROOT_ROW.name);
      const fault = rootFault(recorded, await root.stat(""), await root.handle(""));
      if (fault !== undefined) return fault;
      const marker = await readMarker(root);
      if (marker === undefined) return await this.#withoutMarker();
      this.#hasMarker = true;
      return marker.volume === volume ? undefined : "The folder belongs to another volume.";
    } catch (error) {
      if (isRunnelError(error, "Version") || !isRunnelError(error)) throw error;
      if (error.kind === "Denied") return "The server may not read and write in the folder.";
      if (error.kind === "ReadOnly") return "The folder's file system is read-only.";
      return `The folder cannot be read (${error.kind}).`;
    }
  }

  async #withoutMarker(): Promise<string | undefined> {
    if (this.#hasMarker) return "The folder has no volume marker: is its disk mounted?";
    await createMarker(this.#context.root, { format: FOLDER_FORMAT, volume: this.#context.volume });
    this.#hasMarker = true;
    return undefined;
  }

  #watchForReturn(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    this.#timer = this.#context.clock.after(CHECK_MS, () => {
      this.#timer = undefined;
      this.doubt();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }
}
