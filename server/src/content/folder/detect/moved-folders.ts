// MovedFolders: folders that were renamed a moment ago, by a commit or by another program. An event that was under way
// names the path as it was, so what it named is probed under the new path too.
import type { Clock } from "@runnel/shared";

/** Events do not stay under way longer. */
const KEPT_MS = 10_000;
const MOVES_MAX = 1000;

interface Move {
  from: string;
  to: string;
  untilMs: number;
}

export class MovedFolders {
  readonly #clock: Clock;
  readonly #moves: Move[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(from: string, to: string): void {
    this.#moves.push({ from, to, untilMs: this.#clock.bootMs() + KEPT_MS });
    if (this.#moves.length > MOVES_MAX) this.#moves.shift();
  }

  /** Other places where these paths may lie now. */
  nowOf(paths: readonly string[]): string[] {
    const nowMs = this.#clock.bootMs();
    while ((this.#moves[0]?.untilMs ?? Infinity) < nowMs) this.#moves.shift();
    if (this.#moves.length === 0) return [];
    const now = new Set<string>();
    for (const path of paths) {
      for (const [index, move] of this.#moves.entries()) {
        const moved = follow(path, move);
        if (moved === undefined) continue;
        const at = this.#moves.slice(index + 1).reduce((place, later) => follow(place, later) ?? place, moved);
        // Moved back, it lies where it was probed.
        if (at !== path) now.add(at);
      }
    }
    return [...now];
  }
}

function follow(path: string, { from, to }: Move): string | undefined {
  return path.startsWith(`${from}/`) ? to + path.slice(from.length) : undefined;
}
