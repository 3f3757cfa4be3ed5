// Keeps what went wrong lately and was shown to no program: a person is shown it with the status.
import type { VersionId } from "@runnel/shared";

const KEPT_MAX = 20;

export interface IncidentsDeps {
  /** Returns the path that a node has at the server. */
  storedPathOf(node: number): string | undefined;
  log(message: string): void;
}

export class Incidents {
  readonly #deps: IncidentsDeps;
  readonly #problems: string[] = [];

  constructor(deps: IncidentsDeps) {
    this.#deps = deps;
  }

  problems(): string[] {
    return [...this.#problems];
  }

  /** @returns false when it is known already. */
  addProblem(sentence: string): boolean {
    this.#deps.log(sentence);
    if (this.#problems.includes(sentence)) return false;
    this.#problems.push(sentence);
    if (this.#problems.length > KEPT_MAX) this.#problems.shift();
    return true;
  }

  /** Adds the problem of cached bytes that are not what was written. */
  addDamage({ node }: VersionId, bytes: number): void {
    const what = `${bytes} cached bytes of ${this.#deps.storedPathOf(node) ?? "a file that is gone"}`;
    this.addProblem(`Damaged on this computer's disk: ${what}. They were not used and are fetched again.`);
  }
}
