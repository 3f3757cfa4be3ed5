// Keeps what went wrong lately and was shown to no program, and which contents met another one: a person is shown it
// with the status.
import { type Clock, NS_PER_MS, type VersionId } from "@runnel/shared";
import type { MountStatus } from "../mount-status.ts";

const KEPT_MAX = 20;

export interface IncidentsDeps {
  clock: Clock;
  /** Returns the path of a node now; "" where it is not known. */
  pathOf(node: number): string;
  /** Returns the path that a node has at the server. */
  storedPathOf(node: number): string | undefined;
  log(message: string): void;
}

export class Incidents {
  readonly #deps: IncidentsDeps;
  readonly #problems: string[] = [];
  readonly #conflicts: MountStatus["conflicts"] = [];

  constructor(deps: IncidentsDeps) {
    this.#deps = deps;
  }

  problems(): string[] {
    return [...this.#problems];
  }

  conflicts(): MountStatus["conflicts"] {
    return [...this.#conflicts];
  }

  /** @returns false when it is known already. */
  addProblem(sentence: string): boolean {
    this.#deps.log(sentence);
    if (this.#problems.includes(sentence)) return false;
    this.#problems.push(sentence);
    if (this.#problems.length > KEPT_MAX) this.#problems.shift();
    return true;
  }

  addConflict(path: string, node: number): void {
    const now = this.#deps.pathOf(node);
    // The last close won: the other content is the version before.
    const conflictCopy = now === path ? null : now;
    if (this.#conflicts.length >= KEPT_MAX) return;
    const atMs = Number(this.#deps.clock.wallNs() / NS_PER_MS);
    // A file that has lost its name elsewhere has the one under which it is kept.
    this.#conflicts.push({ path: path === "" ? now : path, conflictCopy, atMs });
  }

  /** Adds the problem of cached bytes that are not what was written. */
  addDamage({ node }: VersionId, bytes: number): void {
    const what = `${bytes} cached bytes of ${this.#deps.storedPathOf(node) ?? "a file that is gone"}`;
    this.addProblem(`Damaged on this computer's disk: ${what}. They were not used and are fetched again.`);
  }
}
