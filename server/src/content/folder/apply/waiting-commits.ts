// Waiting: commits that cannot be put in place now for the sake of their own file or folder, and those behind them that
// depend on one of these. What depends on none of them goes on [F166].
import type { ErrorKind } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { AcceptedCommit } from "../../content-store.ts";

/** The whole folder or disk is in the way, not one place. */
const KINDS_OF_THE_WHOLE: readonly ErrorKind[] = ["NoSpace", "Quota", "Unavailable"];

/** Other commits may do better than the one that failed so. */
export function isOfOnePlace(error: unknown): boolean {
  return !isRunnelError(error, ...KINDS_OF_THE_WHOLE);
}

/**
 * Tells trouble of the whole folder from that of a place in it, on which another file system lies. Resolves to what is
 * to blame.
 */
export async function blameOf(error: unknown, checkRoot: () => Promise<void>): Promise<unknown> {
  if (!isRunnelError(error, "Unavailable")) return error;
  try {
    await checkRoot();
  } catch (fault) {
    return fault;
  }
  const sentence = "On the server another file system is mounted there, or above it.";
  return new RunnelError("Busy", "apply", sentence, { cause: error });
}

/** Things that a commit touches: two commits that share nothing of it do the same in either order. */
interface Footprint {
  /** Nodes that it changes, makes, binds, or copies from. */
  nodes: Set<number>;
  /** Nodes among them that come, move or go; of a folder, what it holds depends on it. */
  placed: Set<number>;
  folders: Set<number>;
  names: Set<string>;
  movesFolder: boolean;
}

function footprintOf({ operation, result, change }: AcceptedCommit): Footprint {
  const folders = new Set(change.bindings.map(({ folder }) => folder));
  const nodes = new Set([result.node]);
  if ("node" in operation) nodes.add(operation.node);
  for (const { node } of change.bindings) if (node !== 0) nodes.add(node);
  // A folder that gets or loses a name is not changed by that alone.
  for (const { node } of change.nodes) if (!folders.has(node)) nodes.add(node);
  if (change.replaces !== undefined) nodes.add(change.replaces.node);
  if (operation.op === "write")
    for (const run of operation.content.runs) if (run.from === "version") nodes.add(run.version.node);
  return {
    nodes,
    placed: operation.op === "setAttr" ? new Set() : nodes,
    folders,
    names: new Set(change.bindings.map(({ folder, name }) => `${folder}/${name}`)),
    movesFolder: operation.op === "rename" && change.nodes.some((state) => isMovedFolder(state, folders)),
  };
}

function isMovedFolder({ node, type }: { node: number; type: string }, folders: ReadonlySet<number>): boolean {
  return type === "folder" && !folders.has(node);
}

export class WaitingCommits {
  #commits: AcceptedCommit[] = [];
  #touched = noFootprint();
  #cause: { commit: AcceptedCommit; error: unknown } | undefined;

  get size(): number {
    return this.#commits.length;
  }

  /** All that wait, in no order. */
  get commits(): readonly AcceptedCommit[] {
    return this.#commits;
  }

  /** The first commit that failed itself, and how. */
  get cause(): { commit: AcceptedCommit; error: unknown } | undefined {
    return this.#cause;
  }

  /** Tells whether a commit behind those here cannot be put in place before one of them is. */
  blocks(commit: AcceptedCommit): boolean {
    if (this.size === 0) return false;
    const [one, touched] = [footprintOf(commit), this.#touched];
    return (
      // Each of two folder moves may be what the other is possible by.
      (one.movesFolder && touched.movesFolder) ||
      isAnyIn(one.nodes, touched.nodes) ||
      isAnyIn(one.names, touched.names) ||
      isAnyIn(one.folders, touched.placed) ||
      isAnyIn(one.placed, touched.folders)
    );
  }

  /** `error`: it failed so; else it depends on one that is here. */
  add(commit: AcceptedCommit, error?: unknown): void {
    this.#commits.push(commit);
    const [one, touched] = [footprintOf(commit), this.#touched];
    for (const key of ["nodes", "placed", "folders"] as const) for (const each of one[key]) touched[key].add(each);
    for (const name of one.names) touched.names.add(name);
    touched.movesFolder ||= one.movesFolder;
    if (error !== undefined && commit.seq < (this.#cause?.commit.seq ?? Infinity)) this.#cause = { commit, error };
  }

  /** All, in seq order, to be tried again. */
  takeAll(): AcceptedCommit[] {
    const taken = this.#commits.sort((a, b) => a.seq - b.seq);
    this.#commits = [];
    this.#touched = noFootprint();
    this.#cause = undefined;
    return taken;
  }
}

function isAnyIn<T>(some: ReadonlySet<T>, all: ReadonlySet<T>): boolean {
  return some.values().some((each) => all.has(each));
}

function noFootprint(): Footprint {
  return { nodes: new Set(), placed: new Set(), folders: new Set(), names: new Set(), movesFolder: false };
}
