// BatchPreparer: prepares the commits of a batch, several at once.
import type { VersionId } from "@runnel/shared";
import { RunnelError } from "@runnel/shared";
import type { AcceptedCommit } from "../../content-store.ts";
import { eachOf } from "../../../host/each-of.ts";
import type { SupersededVersions } from "./superseded-versions.ts";
import type { PendingContents } from "../versions/pending-contents.ts";
import { contentOf } from "../versions/pending-contents.ts";
import type { PrepareDeps, PrepareHow } from "./prepare.ts";
import type { Prepared } from "./prepared.ts";
import { prepare } from "./prepare.ts";

/** Preparations at once: their fsyncs share journal commits. */
const PREPARED_AT_ONCE = 4;

/**
 * The probe that reports what became of a file that a commit copies from takes less than this many tries; what depends
 * on the commit waits for them.
 */
const LOST_TRIES = 4;

/** The preparation, or why there is none. */
export type Preparation = Prepared | { kind: "failed"; error: unknown };

export function beingChanged(): RunnelError {
  return new RunnelError("Stale", "apply", "A file that it copies from is being changed by another program.");
}

export class BatchPreparer {
  readonly #deps: PrepareDeps;
  readonly #pending: PendingContents;
  readonly #superseded: SupersededVersions;
  readonly #hasBegun: (seq: number) => boolean;
  readonly #lostTries = new Map<number, number>();
  /** Commits whose content one that failed copies from: they are put in place whatever supersedes them. */
  readonly #copied = new Set<number>();

  constructor(
    deps: PrepareDeps,
    pending: PendingContents,
    superseded: SupersededVersions,
    hasBegun: (seq: number) => boolean,
  ) {
    this.#deps = deps;
    this.#pending = pending;
    this.#superseded = superseded;
    this.#hasBegun = hasBegun;
  }

  async prepare(batch: readonly AcceptedCommit[]): Promise<Preparation[]> {
    const seqs = new Set(batch.map(({ seq }) => seq));
    const successors = this.#superseded.find(batch, (commit, version) => this.#isNeeded(commit, version, seqs));
    // From here on nobody is promised bytes of a version that will not be there.
    for (const [index, successor] of successors)
      this.#superseded.remember(batch[index] as AcceptedCommit, batch[successor] as AcceptedCommit);
    const written = new Set(batch.flatMap(({ operation }) => (operation.op === "write" ? [operation.node] : [])));
    const firstContents = this.#firstContents(batch, successors);
    const firsts = new Set(firstContents.values());
    const results: Preparation[] = [];
    const prepareOne = async (commit: AcceptedCommit, index: number): Promise<void> => {
      try {
        const [isReplaced, isFirst] = [written.has(commit.result.node), firsts.has(index)];
        results[index] = await this.one(commit, { isSuperseded: successors.has(index), isReplaced, isFirst });
      } catch (error) {
        results[index] = { kind: "failed", error };
      }
    };
    await eachOf(batch, PREPARED_AT_ONCE, async (commit, index) => {
      if (!firstContents.has(index)) await prepareOne(commit, index);
    });
    await eachOf([...firstContents], PREPARED_AT_ONCE, async ([index, at]) => {
      const [first, commit] = [results[at], batch[at] as AcceptedCommit];
      if (first?.kind !== "filled" || first.temp.open === undefined)
        return prepareOne(batch[index] as AcceptedCommit, index);
      const { content, temp } = first;
      results[index] = { kind: "made", handle: temp.handle, isPlaced: false, filled: { commit, content, temp } };
    });
    // A commit whose successor could not be prepared is not superseded yet, nor one that another commit which could
    // not be prepared copies from.
    const prepared = new Set(batch.flatMap(({ seq }, index) => (results[index]?.kind === "failed" ? [] : [seq])));
    for (const [index, successor] of successors) {
      const [commit, later] = [batch[index] as AcceptedCommit, results[successor]];
      const content = contentOf(commit);
      if (later?.kind === "failed") results[index] = later;
      else if (content !== undefined && this.#pending.isNeeded(content.version, prepared)) {
        this.#copied.add(commit.seq);
        results[index] = { kind: "failed", error: beingChanged() };
      } else continue;
      this.#superseded.forget(commit, batch[successor] as AcceptedCommit);
    }
    return results;
  }

  /**
   * Index of a file's make → that of its first content, where nothing between the two in the batch is about the file:
   * it is made with that content then.
   */
  #firstContents(batch: readonly AcceptedCommit[], successors: ReadonlyMap<number, number>): Map<number, number> {
    const found = new Map<number, number>();
    for (const [index, { seq, operation, result }] of batch.entries()) {
      const isFile = operation.op === "make" && operation.attributes.type === "file";
      if (!isFile || this.#hasBegun(seq) || this.#deps.intents.has(seq)) continue;
      const at = batch.findIndex(
        (later, place) => place > index && !successors.has(place) && isAbout(later, result.node),
      );
      const first = batch[at];
      const isContent = first?.operation.op === "write" && first.result.node === result.node;
      if (isContent && !this.#hasBegun(first.seq) && !this.#deps.intents.has(first.seq)) found.set(index, at);
    }
    return found;
  }

  async one(
    commit: AcceptedCommit,
    { isSuperseded = false, ...how }: Omit<PrepareHow, "isLastTry"> & { isSuperseded?: boolean } = {},
  ): Promise<Prepared> {
    const content = contentOf(commit);
    const known = content && (this.#pending.get(content.version) ?? content);
    if (isSuperseded && known !== undefined) return { kind: "superseded", content: known };
    const tries = (this.#lostTries.get(commit.seq) ?? 0) + 1;
    const isLastTry = tries >= LOST_TRIES;
    const prepared = await prepare(this.#deps, commit, known, { ...how, isLastTry });
    if (prepared.kind !== "lost" || !prepared.mayComeBack || isLastTry) return prepared;
    this.#lostTries.set(commit.seq, tries);
    throw beingChanged();
  }

  /** The commit is applied. */
  forget(seq: number): void {
    this.#lostTries.delete(seq);
    this.#copied.delete(seq);
  }

  /** It is in place already, open, or copied from by a commit that is not in the batch, or has failed. */
  #isNeeded(commit: AcceptedCommit, version: VersionId, seqs: ReadonlySet<number>): boolean {
    if (this.#hasBegun(commit.seq) || this.#copied.has(commit.seq) || this.#deps.versions.isOpen(version)) return true;
    return this.#pending.isNeeded(version, seqs);
  }
}

function isAbout({ operation, change }: AcceptedCommit, node: number): boolean {
  const isItself = "node" in operation && operation.node === node;
  return isItself || [...change.nodes, ...change.bindings].some((each) => each.node === node);
}
