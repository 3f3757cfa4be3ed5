// Carrying: the records of commits that wait are copied behind the others, so that one commit that can never be put in
// the folder does not keep all of the log that came after it [F211].
import type { Log, RecordPlace } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { OperationPaths, Passed } from "../meta/meta-store.ts";
import { type PathMove, movedByAll } from "./path-moves.ts";
import { commitsAt, dataPlace, decodeRecord, encodeRecord } from "./record.ts";
import type { CommitRecord, CopyRecord } from "./record.ts";

export interface Carried {
  /** All commits up to here are applied but those that were carried. */
  seq: number;
  /** First segment with a copy. */
  segment: number;
  /** Places of the copies' data, by those (placeKey) that they had before. */
  moved: ReadonlyMap<string, RecordPlace>;
}

interface Rename extends PathMove {
  seq: number;
}

interface Waiting {
  /** Last record of each commit that waits, the newest copy. */
  places: Map<number, RecordPlace>;
  /** Last intent of each of them [F62]. */
  handles: Map<number, Uint8Array>;
  /** Renames that are in the folder, by seq. */
  renames: Map<number, Rename>;
}

export function placeKey({ segment, offset }: RecordPlace): string {
  return `${segment}:${offset}`;
}

/**
 * Resolves when the copies are on stable storage. undefined when they would have more than `bytesMax` bytes: then
 * nothing was written. The log is read whole.
 */
export async function carryWaiting(log: Log, passed: Passed, bytesMax: number): Promise<Carried | undefined> {
  const { seq: upTo, waiting } = passed;
  const { places, handles, renames } = await findWaiting(log, passed);
  const bytes = [...places.values()].reduce((sum, { length }) => sum + length, 0);
  if (bytes > bytesMax) return undefined;
  const moved = new Map<string, RecordPlace>();
  let { segment } = log.current;
  for (const seq of waiting) {
    const place = places.get(seq);
    if (place === undefined) throw new RunnelError("Corrupt", "carry commit", `The log lacks the commit ${seq}.`);
    const payload = await log.read(place, 0, place.length);
    const { record, dataOffset } = decodeRecord(payload);
    const commit = commitsAt(record).find((each) => each.seq === seq) as CommitRecord | CopyRecord;
    const { paths } = commit;
    const asOf = commit.kind === "again" ? commit.asOf : seq;
    const since = [...renames.values()].filter((rename) => rename.seq > asOf);
    const copy: CopyRecord = { ...commit, kind: "again", asOf: upTo, paths: paths && followed(paths, since) };
    const encoded = encodeRecord(copy, payload.subarray(dataOffset));
    const handle = handles.get(seq);
    const intent = handle === undefined ? [] : [encodeRecord({ kind: "handle", seq, handle }).bytes];
    const [at] = await log.write([encoded.bytes, ...intent]);
    if (at !== undefined) moved.set(placeKey(dataPlace(place, dataOffset)), dataPlace(at, encoded.dataOffset));
    segment = Math.min(segment, at?.segment ?? segment);
  }
  await log.append([encodeRecord({ kind: "rest", seq: upTo, seqs: waiting }).bytes]);
  return { seq: upTo, segment, moved };
}

async function findWaiting(log: Log, { seq: upTo, waiting }: Passed): Promise<Waiting> {
  const found: Waiting = { places: new Map(), handles: new Map(), renames: new Map() };
  const isWaiting = new Set(waiting);
  await log.replay(({ place, payload }) => {
    const { record } = decodeRecord(payload);
    if (record.kind === "handle" && isWaiting.has(record.seq)) found.handles.set(record.seq, record.handle);
    for (const commit of commitsAt(record)) {
      if (isWaiting.has(commit.seq)) found.places.set(commit.seq, place);
      else if (commit.seq <= upTo) noteRename(found.renames, commit);
    }
  });
  return found;
}

function noteRename(renames: Map<number, Rename>, { seq, operation, paths }: CommitRecord | CopyRecord): void {
  const isRename = operation.op === "rename" || operation.op === "externalRename";
  if (!isRename || paths === undefined || paths.from === "") return;
  const isExchange = operation.op === "rename" && operation.how === "exchange";
  renames.set(seq, { seq, from: paths.from, to: paths.path, isExchange });
}

/** Returns the paths that are meant once these renames were done. */
function followed(paths: OperationPaths, renames: readonly Rename[]): OperationPaths {
  const inOrder = renames.toSorted((one, other) => one.seq - other.seq);
  const now = (path: string): string => movedByAll(inOrder, path);
  return {
    ...paths,
    path: now(paths.path),
    from: now(paths.from),
    names: paths.names.map(now),
    sources: paths.sources.map(({ node, path }) => ({ node, path: now(path) })),
  };
}
