// Follows paths through renames: what was meant by a path is elsewhere once a folder above it has been renamed.

export interface PathMove {
  from: string;
  to: string;
  /** Both paths have changed places. */
  isExchange: boolean;
}

/** Returns the path after the move of what was there before it. A move from "" is of no name that is known. */
export function movedBy({ from, to, isExchange }: PathMove, path: string): string {
  if (from === "") return path;
  if (isAt(path, from)) return to + path.slice(from.length);
  return isExchange && isAt(path, to) ? from + path.slice(to.length) : path;
}

/** Returns the path after these moves, the first one first. */
export function movedByAll(moves: readonly PathMove[], path: string): string {
  return moves.reduce((at, move) => movedBy(move, at), path);
}

function isAt(path: string, place: string): boolean {
  return path === place || path.startsWith(`${place}/`);
}
