// Recovery: what opening a volume makes of its log and its meta store. An index behind the log is rolled forward, in
// the same epoch; one that is lost, damaged or does not belong to the log is made anew, in a new epoch, after what only
// the log has was salvaged into the folder.
import { randomBytes, randomInt } from "node:crypto";
import type { Clock, Log, Notice } from "@runnel/shared";
import { RunnelError, isRunnelError, wallMs } from "@runnel/shared";
import type { AcceptedCommit, ContentEngine, SalvageReport } from "../content/content-store.ts";
import type { Creation } from "../meta/first-rows.ts";
import { appliedCommits } from "../meta/is-applied.ts";
import type { MetaStore, VolumeFacts } from "../meta/meta-store.ts";
import { indexAgain } from "../commit-log/queue.ts";
import type { NoticeHistory } from "./notice-history.ts";
import { commitsAt, commitsOf, dataPlace, decodeRecord, isExternal } from "../commit-log/record.ts";

export interface RecoverDeps {
  name: string;
  clock: Clock;
  openMeta(create: Creation | undefined): Promise<MetaStore>;
  warn(message: string, error?: unknown): void;
}

export interface Recovered {
  meta: MetaStore;
  /** Once rolled forward. */
  facts: VolumeFacts;
  /** Commits that may not be in the plain folder yet. */
  commits: AcceptedCommit[];
  handles: Map<number, Uint8Array>;
  /** The meta store was lost and made anew: what became of the log's commits. */
  salvaged: SalvageReport | undefined;
}

/** Step between the places where the ids of an epoch may begin: anywhere below 2^32, with room for a million nodes. */
const FIRST_NODE_STEP = 2 ** 20;
const FIRST_NODE_PLACES = 4095;

/** @throws Corrupt for a damaged log: nothing of it is passed over. */
export async function recover(
  deps: RecoverDeps,
  engine: ContentEngine,
  log: Log,
  history: NoticeHistory,
): Promise<Recovered> {
  const meta = await openKept(deps);
  if (meta !== undefined) {
    try {
      const recovered = await rollForward(log, meta);
      await history.follow(meta);
      return recovered;
    } catch (error) {
      await meta.close();
      if (!(error instanceof StrangeIndex)) throw error;
      deps.warn(`The index of ${deps.name} does not belong to its commit log and is made anew from the folder.`, error);
    }
  }
  return makeAnew(deps, engine, log, history);
}

async function openKept(deps: RecoverDeps): Promise<MetaStore | undefined> {
  try {
    return await deps.openMeta(undefined);
  } catch (error) {
    if (!isRunnelError(error, "NotFound", "Corrupt")) throw error;
    if (error.kind === "Corrupt")
      deps.warn(`The index of ${deps.name} is damaged and is made anew from the folder.`, error);
    return undefined;
  }
}

/**
 * Salvage first, then the log, then the meta store: killed between them, the next start begins again with what is left
 * to do [F69].
 */
async function makeAnew(
  deps: RecoverDeps,
  engine: ContentEngine,
  log: Log,
  history: NoticeHistory,
): Promise<Recovered> {
  let wasServed = false;
  await log.replay(() => {
    wasServed = true;
  });
  const report = wasServed ? await engine.salvage(log) : undefined;
  const notices = report === undefined ? [] : noticesOf(report, wallMs(deps.clock));
  if (notices.length > 0) await history.note(notices);
  // Records of another epoch mean nothing to a new meta store.
  await log.dropBefore(await log.rotate());
  const firstNode = 2 + randomInt(FIRST_NODE_PLACES) * FIRST_NODE_STEP;
  const meta = await deps.openMeta({ epoch: randomBytes(16).toString("hex"), firstNode });
  try {
    await history.restore(meta);
  } catch (error) {
    await meta.close();
    throw error;
  }
  return { meta, facts: await meta.facts(), commits: [], handles: new Map(), salvaged: report };
}

function noticesOf({ shown, conflictCopies, missing }: SalvageReport, atMs: number): Notice[] {
  return [
    ...(shown > 0 ? [{ kind: "salvaged", changes: shown, atMs } as const] : []),
    ...conflictCopies.map((each) => ({ kind: "conflict", ...each, atMs }) as const),
    ...missing.map((each) => ({ kind: "missing", ...each, atMs }) as const),
  ];
}

/** The index and the log do not tell of one history: one of them was lost, or is an older copy. */
class StrangeIndex extends RunnelError {
  constructor(message: string, cause?: unknown) {
    super("Corrupt", "roll forward", message, { cause });
  }
}

/** Brings the index up to the log, and finds the commits that are not in the plain folder yet. */
async function rollForward(log: Log, meta: MetaStore): Promise<Recovered> {
  const before = await ofIndex(() => meta.facts());
  const { segment, sizeBytes } = log.current;
  if (before.logSegment > segment || (before.logSegment === segment && before.logOffset > sizeBytes)) {
    throw new StrangeIndex("The index is ahead of the log.");
  }
  const isApplied = await ofIndex(() => appliedCommits(meta));
  const commits = new Map<number, AcceptedCommit>();
  const handles = new Map<number, Uint8Array>();
  await log.replay(async ({ place, payload }) => {
    const { record, dataOffset } = decodeRecord(payload);
    if (record.kind === "handle" && !isApplied(record.seq)) handles.set(record.seq, record.handle);
    const found = commitsAt(record);
    if (found.length === 0) return;
    const data = dataPlace(place, dataOffset);
    const isIndexed =
      place.segment < before.logSegment || (place.segment === before.logSegment && place.offset < before.logOffset);
    // The index has the commit of a copy, or gets it from its first record.
    if (!isIndexed && record.kind !== "again") {
      const end = { segment: place.segment, offset: place.offset + place.length };
      await ofIndex(() => indexAgain(meta, { commits: commitsOf(record), data, end }));
    }
    for (const { seq, id, operation, result, change } of found)
      if (change !== undefined && !isApplied(seq) && !isExternal(operation))
        commits.set(seq, { seq, operation, result, change, instance: id?.instance ?? "", data });
  });
  const waiting = [...commits.values()].toSorted((one, other) => one.seq - other.seq);
  return { meta, facts: await meta.facts(), commits: waiting, handles, salvaged: undefined };
}

/** Damage found here is the index's, which can be made anew; damage of the log cannot. */
async function ofIndex<T>(use: () => Promise<T>): Promise<T> {
  try {
    return await use();
  } catch (error) {
    if (isRunnelError(error, "Corrupt")) throw new StrangeIndex(error.message, error);
    throw error;
  }
}
