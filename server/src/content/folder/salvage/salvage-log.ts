// Reads what a commit log still tells when its meta store is lost: the own commits that may not be in the plain folder,
// by path, and which files were put in place for which commit. Reads the log, changes nothing.
import type { Change, Log, RecordPlace } from "@runnel/shared";
import type { ExternalOperation, Operation, OperationResult } from "../../../meta/meta-store.ts";
import { handleKey } from "../disk/same-file.ts";
import { type PathMove, movedByAll } from "../../../commit-log/path-moves.ts";
import { commitsAt, dataPlace, decodeRecord, isExternal } from "../../../commit-log/record.ts";
import type { CommitRecord, CopyRecord } from "../../../commit-log/record.ts";

export interface SalvageCommit {
  seq: number;
  /** The seq up to which its paths follow what was renamed: its own, or of a copy a later one [F211]. */
  asOf: number;
  wallNs: bigint;
  operation: Operation;
  result: OperationResult;
  change: Change;
  path: string;
  from: string;
  /** Further names of a written node. */
  names: string[];
  /** Paths of other nodes that a write copies from. */
  sources: ReadonlyMap<number, string>;
  data: RecordPlace;
}

/** A commit for which a file was put in place, or is about to be. */
export interface IntentFile {
  seq: number;
  node: number;
  /** Size and time as the commit left it. */
  sizeBytes: number;
  mtimeNs: bigint;
}

export interface SalvageLog {
  /**
   * Commits in the order in which they may be put there; their paths are those of now, as far as renames by other
   * programs tell.
   */
  commits: SalvageCommit[];
  /** Commits that later ones may have passed. */
  waited: ReadonlySet<number>;
  /** Intents by handle (handleKey). */
  intents: Map<string, IntentFile>;
  /** Owning nodes of files by handle: of those recorded, and of those that commits met in the folder. */
  owners: Map<string, number>;
  /**
   * Every path that the commits of the log concern, up or not: the server itself may have touched the files there
   * lately.
   */
  ownPaths: Set<string>;
  /** Nodes whose attributes another program set after the last commit. */
  foreignAttributes: Set<number>;
}

interface ForeignChange {
  name: number;
  content: number;
  attributes: number;
}

class Reader {
  appliedSeq = 0;
  readonly commits = new Map<number, SalvageCommit>();
  readonly ownPaths = new Set<string>();
  readonly waited = new Set<number>();
  readonly handles: { seq: number; handle: Uint8Array }[] = [];
  readonly made = new Map<number, IntentFile>();
  readonly owners = new Map<string, number>();
  readonly foreign = new Map<number, ForeignChange>();
  /** Renames by other programs, in the order of the log. */
  readonly renames: (PathMove & { seq: number })[] = [];

  take(record: CommitRecord | CopyRecord, data: RecordPlace): void {
    const { change, operation, result, wallNs, seq } = record;
    if (change === undefined) return;
    const paths = record.paths ?? { path: "", from: "", sources: [], names: [], files: [] };
    for (const { node, handle } of paths.files) this.owners.set(handleKey(handle), node);
    if (isExternal(operation)) return this.takeForeign(operation, result.node, seq, paths);
    const state = change.nodes.find(({ node }) => node === result.node);
    if (state !== undefined)
      this.made.set(seq, { seq, node: result.node, sizeBytes: state.sizeBytes, mtimeNs: state.mtimeNs });
    this.ownPaths.add(paths.path).add(paths.from);
    const sources = new Map(paths.sources.map(({ node, path }) => [node, path]));
    const { path, from, names } = paths;
    const asOf = record.kind === "again" ? record.asOf : seq;
    this.commits.set(seq, { seq, asOf, wallNs, operation, result, change, path, from, names, sources, data });
  }

  private takeForeign(
    operation: ExternalOperation,
    node: number,
    seq: number,
    paths: { path: string; from: string },
  ): void {
    const last = this.foreign.get(node) ?? { name: 0, content: 0, attributes: 0 };
    if (operation.op === "externalRename" || operation.op === "externalRemove") last.name = seq;
    if (operation.op === "externalWrite" || operation.op === "externalRemove") last.content = seq;
    if (operation.op === "externalAttributes" || operation.op === "externalWrite") last.attributes = seq;
    if (operation.op === "externalRename")
      this.renames.push({ seq, from: paths.from, to: paths.path, isExchange: false });
    this.foreign.set(node, last);
  }

  up(seq: number): void {
    this.appliedSeq = Math.max(this.appliedSeq, seq);
    this.#forget((each) => each <= this.appliedSeq);
  }

  rest(seq: number, seqs: readonly number[]): void {
    const left = new Set(seqs);
    this.#forget((each) => each <= seq && !left.has(each));
    for (const each of seqs) this.waited.add(each);
  }

  #forget(isApplied: (seq: number) => boolean): void {
    for (const seq of this.commits.keys()) if (isApplied(seq)) this.commits.delete(seq);
  }

  /**
   * The other programs' changes are what the disk shows, and one is only taken into the tree where the disk shows what
   * the tree has: a later one of the same name or content says that the commit was applied [F65].
   */
  isShown({ seq, operation, result }: SalvageCommit): boolean {
    const foreign = this.foreign.get(result.node);
    if (foreign === undefined || operation.op === "setAttr") return false;
    return (operation.op === "write" ? foreign.content : foreign.name) > seq;
  }

  pathNow(path: string, asOf: number): string {
    const since = this.renames.filter(({ seq }) => seq > asOf);
    return movedByAll(since, path);
  }
}

/** @throws Corrupt for damage in the log: nothing of it is passed over. */
export async function readForSalvage(log: Log): Promise<SalvageLog> {
  const reader = new Reader();
  await log.replay(({ place, payload }) => {
    const { record, dataOffset } = decodeRecord(payload);
    if (record.kind === "up") reader.up(record.seq);
    else if (record.kind === "handle") reader.handles.push({ seq: record.seq, handle: record.handle });
    else if (record.kind === "wait") for (const seq of record.seqs) reader.waited.add(seq);
    else if (record.kind === "rest") reader.rest(record.seq, record.seqs);
    for (const commit of commitsAt(record)) reader.take(commit, dataPlace(place, dataOffset));
  });
  // Nothing between the seq of what waits and that of its copy depends on it, nor it on anything there.
  const inOrder = [...reader.commits.values()].toSorted((one, other) => one.asOf - other.asOf || one.seq - other.seq);
  const intents = new Map<string, IntentFile>();
  for (const { seq, handle } of reader.handles) {
    const file = reader.made.get(seq);
    if (file === undefined) continue;
    intents.set(handleKey(handle), file);
    reader.owners.set(handleKey(handle), file.node);
  }
  const lastOwn = new Map(inOrder.map((commit) => [commit.result.node, commit.seq]));
  const foreignAttributes = [...reader.foreign]
    .filter(([node, { attributes }]) => attributes > (lastOwn.get(node) ?? 0))
    .map(([node]) => node);
  const commits = inOrder.filter((commit) => !reader.isShown(commit));
  for (const commit of commits) {
    const { asOf } = commit;
    commit.path = reader.pathNow(commit.path, asOf);
    commit.from = reader.pathNow(commit.from, asOf);
    commit.names = commit.names.map((name) => reader.pathNow(name, asOf));
  }
  return {
    commits,
    waited: reader.waited,
    intents,
    owners: reader.owners,
    ownPaths: reader.ownPaths,
    foreignAttributes: new Set(foreignAttributes),
  };
}
