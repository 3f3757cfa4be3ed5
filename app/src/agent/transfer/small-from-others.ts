// Small files from where the server need not send them: an old copy, a stick, colleagues. Their recipes come from the
// server in one stream (W34); what no other source has comes of it afterwards, many files in one stream, as without
// others.
import type { Executor, NodeState, Recipe } from "@runnel/shared";
import {
  FIND_GET_ITEM,
  RECIPES_ONLY_FEATURE,
  RunnelError,
  check,
  decodeRecipe,
  encodeRecipe,
  recipeSize,
} from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Transfer } from "../view/transfers.ts";
import type { Session } from "../wire/session.ts";
import type { Downloads } from "./download.ts";
import type { Sources } from "./sources/sources.ts";

/** Files that others are asked for at once. */
const FILES_AT_ONCE = 8;
/** Part of the bytes that others must have for the recipes to be worth their way; else some streams go without. */
const WORTH = 1 / 8;
const STREAMS_WITHOUT = 8;

export interface SmallFromOthersDeps {
  cache: Cache;
  session: Pick<Session, "features" | "open" | "whileAlive">;
  executor: Executor;
  sources: Pick<Sources, "mayHave">;
  downloads: Pick<Downloads, "bringFromOthers">;
}

interface Bringing {
  /** A program walks the tree, and reads. */
  isWaitedFor: boolean;
  /** Counts what comes. */
  transfer: Transfer;
  signal: AbortSignal;
  came(file: NodeState): void;
}

export class SmallFromOthers {
  readonly #deps: SmallFromOthersDeps;
  /** Streams that others are not asked for. */
  #without = 0;

  constructor(deps: SmallFromOthersDeps) {
    this.#deps = deps;
  }

  /**
   * Brings whole files of those, which are in the order in which they are wanted; `came` is called for each that is
   * here now. @throws Interrupted, Unreachable, Invalid, NoSpace.
   */
  async bring(files: readonly NodeState[], { isWaitedFor, transfer, signal, came }: Bringing): Promise<void> {
    const { session, sources } = this.#deps;
    const likely = files.filter(({ sizeBytes }) => sources.mayHave(sizeBytes));
    if (likely.length === 0 || !session.features.includes(RECIPES_ONLY_FEATURE)) return;
    if (this.#without > 0) {
      this.#without--;
      return;
    }
    let [bytes, cameBytes] = [0, 0];
    for await (const named of this.#recipesOf(likely, signal)) {
      const left = named.values();
      const worker = async (): Promise<void> => {
        for (const { file, recipe } of left) {
          bytes += file.sizeBytes;
          if (!(await this.#bringOne(file, recipe, isWaitedFor, transfer, signal))) continue;
          cameBytes += file.sizeBytes;
          came(file);
        }
      };
      await Promise.all(Array.from({ length: FILES_AT_ONCE }, worker));
    }
    if (cameBytes < bytes * WORTH) this.#without = STREAMS_WITHOUT;
  }

  async *#recipesOf(
    files: readonly NodeState[],
    signal: AbortSignal,
  ): AsyncGenerator<{ file: NodeState; recipe: Recipe }[]> {
    const { session } = this.#deps;
    const versions = files.map(({ node, version }) => [node, version]);
    signal.throwIfAborted();
    const channel = session.open("findGet", { versions, recipesOnly: true }, true);
    const stop = (): void => channel.cancel();
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        const message = await session.whileAlive(channel.next(), "findGet");
        if (message === undefined) return;
        const [, named, , rawBytes, encodedBytes] = check(FIND_GET_ITEM, message, "findGet item");
        if (rawBytes !== 0 || encodedBytes !== 0) throw unexpected();
        yield named.map(([index, descriptors]) => {
          const [file, recipe] = [files[index], decodeRecipe(descriptors)];
          if (file === undefined || recipeSize(recipe) !== file.sizeBytes) throw unexpected();
          return { file, recipe };
        });
      }
    } finally {
      signal.removeEventListener("abort", stop);
      channel.cancel();
    }
  }

  async #bringOne(
    { node, version, sizeBytes }: NodeState,
    recipe: Recipe,
    isWaitedFor: boolean,
    transfer: Transfer,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { cache, executor, downloads } = this.#deps;
    using hold = await cache.create({ node, seq: version }, sizeBytes);
    const oid = await executor.digest([encodeRecipe(recipe)]);
    const content = cache.setRecipe(hold.content, recipe, oid);
    await downloads.bringFromOthers(content, isWaitedFor, transfer, signal);
    return cache.absent(content, { offset: 0, length: sizeBytes }).length === 0;
  }
}

function unexpected(): RunnelError {
  return new RunnelError("Invalid", "findGet", "A stream of recipes brought something unexpected.");
}
