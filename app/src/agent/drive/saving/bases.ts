// The version that a recorded save is an edit of, as cached content: held, wherever it is found.
import type { VersionId } from "@runnel/shared";
import { checkResult, isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent, Hold } from "../../cache/cache.ts";
import type { JournalCommit } from "../../journal/journal.ts";
import type { Session } from "../../wire/session.ts";

export class Bases {
  readonly #cache: Cache;
  readonly #session: Session;
  readonly #epoch: () => string;

  constructor(deps: { cache: Cache; session: Session; epoch(): string }) {
    this.#cache = deps.cache;
    this.#session = deps.session;
    this.#epoch = deps.epoch;
  }

  /**
   * Holds the base. One lost from the cache is a new content, which is fetched as far as it is needed. @returns
   * undefined when there is none, or the server has no such version any more. @throws Unreachable
   */
  async hold(record: JournalCommit): Promise<Hold | undefined> {
    const known = this.find(record);
    if (known !== undefined) return this.#cache.hold(known);
    const { node, seq, epoch } = versionOf(record);
    if (record.baseBytes === 0 || epoch !== this.#epoch()) return undefined;
    const sizeBytes = await this.#sizeOf({ node, seq });
    return sizeBytes === undefined ? undefined : this.#cache.create({ node, seq }, sizeBytes);
  }

  find(record: JournalCommit): CachedContent | undefined {
    const cache = this.#cache;
    const { node, seq, epoch } = versionOf(record);
    const oid = record.baseOid.length > 0 ? record.baseOid : undefined;
    // The number of a version is another one's in another epoch; its bytes are the same.
    if (epoch !== this.#epoch()) return oid && cache.byOid(oid);
    const found = cache.find({ node, seq }, oid);
    if (found !== undefined || record.baseBytes === 0) return found;
    const hinted = cache.byId(record.baseContent);
    return hinted?.version.seq === seq ? hinted : undefined;
  }

  /**
   * Asks also for a version that is not current any more: the change over it may have been executed, and only its
   * answer be lost.
   */
  async #sizeOf({ node, seq }: VersionId): Promise<number | undefined> {
    try {
      const answer = await this.#session.ask("getHash", { version: [node, seq], from: 0, count: 0 });
      return checkResult("getHash", answer).sizeBytes;
    } catch (error) {
      if (isRunnelError(error, "Gone")) return undefined;
      throw error;
    }
  }
}

/** Returns the version that was edited. */
export function versionOf({ copy, node, baseVersion, epoch }: JournalCommit): VersionId & { epoch: string } {
  return copy?.base ?? { node, seq: baseVersion, epoch };
}
