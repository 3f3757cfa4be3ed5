// Superseded versions: a large file saved again before it is applied need not be copied twice. The earlier version
// keeps its data in the log until the later one is applied, and is forgotten then; one that somebody reads or copies
// from is applied like any other.
import type { VersionId } from "@runnel/shared";
import type { AcceptedCommit } from "../../content-store.ts";
import { contentOf } from "../versions/pending-contents.ts";
import { versionKey } from "../disk/store-layout.ts";

/** Copying a smaller file costs less than the loss of an old version. */
const SUPERSEDED_BYTES_MIN = 1024 * 1024;

/**
 * The later save began with this content, on the same machine. Of a conflict both contents stay, and of two people's
 * work each step.
 */
function isContainedIn(commit: AcceptedCommit, later: AcceptedCommit | undefined): boolean {
  if (later?.operation.op !== "write" || later.result.conflict) return false;
  return later.operation.base === commit.result.version && later.instance === commit.instance;
}

export class SupersededVersions {
  /** Superseded versions by the seq of the commit that superseded them. */
  readonly #versions = new Map<number, VersionId[]>();
  readonly #keys = new Set<string>();

  /** Index in the batch → that of the commit which supersedes it. `isNeeded`: by somebody outside of the batch. */
  find(
    batch: readonly AcceptedCommit[],
    isNeeded: (commit: AcceptedCommit, version: VersionId) => boolean,
  ): Map<number, number> {
    const later = new Map<number, number>();
    const successors = new Map<number, number>();
    for (const [index, commit] of [...batch.entries()].toReversed()) {
      const content = contentOf(commit);
      if (content === undefined) continue;
      const { node } = content.version;
      const successor = later.get(node);
      later.set(node, index);
      if (successor === undefined || content.temp !== "" || content.sizeBytes < SUPERSEDED_BYTES_MIN) continue;
      // It makes the node, as for a conflict copy: without it the successor has no name to take.
      if (commit.change.bindings.length > 0) continue;
      if (!isContainedIn(commit, batch[successor])) continue;
      if (!isNeeded(commit, content.version)) successors.set(index, successor);
    }
    return successors;
  }

  remember(commit: AcceptedCommit, { seq: by }: AcceptedCommit): void {
    const content = contentOf(commit);
    if (content === undefined) return;
    this.#versions.set(by, [...(this.#versions.get(by) ?? []), content.version]);
    this.#keys.add(versionKey(content.version));
  }

  /** It is to be put in place after all. */
  forget(commit: AcceptedCommit, { seq: by }: AcceptedCommit): void {
    const content = contentOf(commit);
    if (content === undefined) return;
    const key = versionKey(content.version);
    this.#keys.delete(key);
    const left = this.#versions.get(by)?.filter((version) => versionKey(version) !== key) ?? [];
    this.#versions.set(by, left);
  }

  has(version: VersionId): boolean {
    return this.#keys.has(versionKey(version));
  }

  /** Takes out the versions that this commit, which is applied now or has failed, had superseded. */
  take(seq: number): VersionId[] {
    const versions = this.#versions.get(seq) ?? [];
    this.#versions.delete(seq);
    for (const version of versions) this.#keys.delete(versionKey(version));
    return versions;
  }
}
