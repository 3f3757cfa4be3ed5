// Notices: what a person should know of and settle: versions that other programs destroyed, files kept beside. The newest stay.
import type { VersionId } from "@runnel/shared";
import type { ContentStatus } from "../content-store.ts";
import { versionKey } from "./store-layout.ts";

const LISTED_MAX = 1000;

export class Notices {
  readonly #lost = new Map<string, VersionId>();
  readonly #conflicts: ContentStatus["conflicts"] = [];

  get lost(): VersionId[] {
    return [...this.#lost.values()];
  }

  get conflicts(): ContentStatus["conflicts"] {
    return [...this.#conflicts];
  }

  addLost(version: VersionId): void {
    const key = versionKey(version);
    this.#lost.delete(key);
    this.#lost.set(key, version);
    if (this.#lost.size <= LISTED_MAX) return;
    const oldest = this.#lost.keys().next();
    if (oldest.done !== true) this.#lost.delete(oldest.value);
  }

  addConflict(path: string, keptBeside: string): void {
    this.#conflicts.push({ path, keptBeside });
    if (this.#conflicts.length > LISTED_MAX) this.#conflicts.shift();
  }
}
