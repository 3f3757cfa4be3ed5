// Conflicts between clients: saves over a version that their program had not seen. Each is kept as a notice, for all
// people of the volume, until one of them settles it (rule W184).
import { type Clock, type NoticeOf, wallMs } from "@runnel/shared";
import type { MetaStore, NoticeStore, OperationResult } from "../meta/meta-store.ts";
import { pathOfPlace } from "../meta/path-of-place.ts";

export interface ClientConflictsDeps {
  meta: Pick<MetaStore, "namesOf" | "lastName">;
  kept: NoticeStore;
  clock: Clock;
  /** The notices have changed. */
  noticed(): void;
  warn(message: string, error: unknown): void;
}

export class ClientConflicts {
  readonly #deps: ClientConflictsDeps;

  constructor(deps: ClientConflictsDeps) {
    this.#deps = deps;
  }

  /**
   * Keeps a conflict, if a save of the node `asked` is one, durably before it resolves; told again, it is the same one.
   * `by`: a person's word for who saved. Whatever fails, the save is done.
   */
  async note(asked: number, { node, seq, conflict }: OperationResult, by: string): Promise<void> {
    if (!conflict) return;
    await this.#keep(async () => {
      const path = await this.#pathOf(asked);
      return { path, seq, ...(node === asked ? {} : { conflictCopy: await this.#pathOf(node) }), by };
    });
  }

  async #keep(conflict: () => Promise<Omit<NoticeOf<"clientConflict">, "kind" | "atMs">>): Promise<void> {
    const { kept, clock, noticed, warn } = this.#deps;
    try {
      await kept.note([{ kind: "clientConflict", ...(await conflict()), atMs: wallMs(clock) }]);
      noticed();
    } catch (error) {
      warn("A conflict could not be kept for people.", error);
    }
  }

  /** Keeps that a node is a conflict copy of what has that path, or that place, in the same way. */
  async noteCopy(
    of: string | { folder: number; name: string },
    { node, seq }: OperationResult,
    by: string,
  ): Promise<void> {
    await this.#keep(async () => {
      const path = typeof of === "string" ? of : await pathOfPlace(this.#deps.meta, of);
      return { path, seq, conflictCopy: await this.#pathOf(node), by };
    });
  }

  /** Tells a client that begins to follow the volume if there are any. */
  async tellIfAny(follower: { noticed(): void }): Promise<void> {
    try {
      const notices = await this.#deps.kept.notices();
      if (notices.some(({ kind }) => kind === "clientConflict")) follower.noticed();
    } catch (error) {
      this.#deps.warn("Conflicts could not be read for a client.", error);
    }
  }

  /** A person has seen to a conflict: it is listed no more. Harmless when repeated. */
  async settle(seq: number): Promise<void> {
    const { kept, noticed } = this.#deps;
    const settled = (await kept.notices()).filter((notice) => notice.kind === "clientConflict" && notice.seq === seq);
    if (settled.length === 0) return;
    await kept.forgetNotices(settled);
    noticed();
  }

  /** Path that it has, or had last. */
  async #pathOf(node: number): Promise<string> {
    const { meta } = this.#deps;
    return pathOfPlace(meta, (await meta.namesOf(node))[0] ?? (await meta.lastName(node)));
  }
}
