// Sends one content, base and layers as they lie: cuts it while it is sent, an edit only around what was edited, and
// delivers it through links that come and go. What it leaves behind is the caller's: to be kept as cached content, or
// released.
import type { ByteRange } from "@runnel/native/drive";
import type { Clock, DiskRoot, Executor, Rechunked, Recipe } from "@runnel/shared";
import {
  RunnelError,
  SUPPLY_FEATURE,
  chunkOffsets,
  encodeRecipe,
  isCutFixed,
  isFastLine,
  isRunnelError,
  presetFor,
  presetOf,
  rechunkedRecipe,
  sliceRecipe,
  checkResult,
} from "@runnel/shared";
import type { OwnChanges } from "../changes/own-changes.ts";
import type { Cache, CachedContent, VersionContent } from "../cache/cache.ts";
import { dirtyBytes, type JournalCommit } from "../journal/journal.ts";
import type { Operations } from "../wire/operations.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Session } from "../wire/session.ts";
import type { Transfer, Transfers } from "../view/transfers.ts";
import type { BaseVerification, ComposedContent } from "./compose.ts";
import { dirtyRanges, openComposed, wholeLayer } from "./compose.ts";
import { CutContent } from "./cut-content.ts";
import type { Downloads } from "./download.ts";
import { GuessedBase } from "./guessed-base.ts";
import type { OwnRecipes } from "./own-recipes.ts";
import type { References } from "./upload-plan.ts";
import type { Outgoing, Turn, Uploads, WriteResult } from "./upload.ts";
import { fewerReferences } from "./upload.ts";

export interface SenderDeps {
  changes: Pick<OwnChanges, "received">;
  operations: Operations;
  session: Session;
  cache: Cache;
  /** The journal's data folder, and its path. */
  data: DiskRoot;
  dataFolder: string;
  downloads: Downloads;
  ownRecipes: OwnRecipes;
  uploads: Uploads;
  transfers: Transfers;
  pauses: Passages;
  executor: Executor;
  clock: Clock;
}

/** Whoever has programs read from cached contents. */
export interface BaseUsers {
  /** Number of times that they hold it. */
  holdsOf(content: CachedContent): number;
  /** Releases it. @returns false, with nothing changed, while somebody still reads from it. */
  release(content: CachedContent): boolean;
}

export interface SentContent {
  result: WriteResult;
  /**
   * Takes the content into the cache, as the version it became. What was edited is written to where it lies, if its
   * users release it; else it is copied.
   */
  keep(users?: BaseUsers): Promise<CachedContent>;
  /** Frees what it lay in. */
  release(): Promise<void>;
}

/** A change that makes the file, and is not answered yet. */
export interface Making {
  n: number;
  /** Resolves when it has been answered, whatever the answer. */
  settled: Promise<unknown>;
}

interface SendOptions {
  mayStart?: (() => boolean) | undefined;
  making?: Making | undefined;
  turn?: Turn | undefined;
  guesses?: readonly CachedContent[];
}

const OWN_FILE_MODE = 0o600;
/** A few chunks of the smallest preset, and so the old bytes of a delta. */
const AROUND_BYTES = 32 * 1024;
/** Less costs no more than another round trip. */
const NEAR_BYTES = 256 * 1024;
/** Size below which all is sent: that costs no more than the round trips for its recipe. */
const LARGE_BYTES = 1024 * 1024;
/** Edited places up to which each is a round trip of its own; a base that is edited in more comes whole. */
const PLACES_MAX = 8;

export class Sender {
  readonly #deps: SenderDeps;
  #composed = 0;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /**
   * Commits a recorded content over `base`; with `making`, of a file whose make is not answered yet. Without a base it
   * may resemble one of `guesses`. With `mayStart` it may have been executed before: it is settled by its number, and
   * begun only if that says so (else Stale). @throws Unreachable when the request timeout is over, and the server's
   * refusals.
   */
  async send(record: JournalCommit, base: CachedContent | undefined, how: SendOptions = {}): Promise<SentContent> {
    const { path, n, sizeBytes, node } = record;
    using passage = this.#deps.pauses.enter("write", [node], path);
    const workedBytes = dirtyBytes(record);
    using transfer = this.#deps.transfers.begin({
      direction: "up",
      file: path,
      totalBytes: sizeBytes,
      n,
      workedBytes,
    });
    const sent = await this.#send(record, base, { ...how, paused: passage.signal }, transfer);
    transfer.succeeded();
    return sent;
  }

  async #send(
    record: JournalCommit,
    base: CachedContent | undefined,
    { mayStart, making, turn, paused, guesses = [] }: SendOptions & { paused: AbortSignal },
    transfer: Transfer,
  ): Promise<SentContent> {
    const { cache, executor } = this.#deps;
    const hold = base && cache.hold(base);
    const endHold = (): void => hold?.[Symbol.dispose]();
    const content = await this.#open(record, base).catch((error: unknown) => {
      endHold();
      throw error;
    });
    const release = async (): Promise<void> => {
      await content.close();
      endHold();
    };
    try {
      const cut = await this.#cut(record, base, content);
      // Whoever begins again, or makes the file, has no version that is known to be there. In its turn among others it
      // keeps its number, and is a version of its own.
      if (base !== undefined && mayStart === undefined && making === undefined && turn === undefined) {
        const result = await this.#sameAgain(record, cut, base);
        if (result !== undefined) return { result, keep: async () => base, release };
      }
      const guessed = new GuessedBase({ cache, executor, guesses });
      const result = await this.#toldOf(
        this.#deliver(record, { cut, guessed, transfer }, base, { mayStart, making, turn, paused }),
      );
      const { recipe, oid } = await cut.whole();
      const version = { node: result.node, seq: result.version };
      const next = { version, sizeBytes: record.sizeBytes, recipe, oid };
      const keep = async (users?: BaseUsers): Promise<CachedContent> => {
        if (users !== undefined && base?.version.node === version.node) {
          const edited = await this.#edited(base, content, next, users, endHold);
          if (edited !== undefined) return edited;
        }
        const [unverified, absent] = [content.unverified(0, content.sizeBytes), content.absent()];
        return this.#inOneFile(record, content, (path) => cache.adopt(path, next, unverified, absent));
      };
      return { result, keep, release };
    } catch (error) {
      await release();
      throw error;
    }
  }

  /**
   * All that shows of the base: without it a content cannot be sent whose base the server does not have any more.
   * @throws Gone, Lost, Unreachable.
   */
  async bringBase(record: JournalCommit, base: CachedContent | undefined): Promise<void> {
    const { cache, downloads } = this.#deps;
    const shown = shownBytes(record);
    if (shown === 0) return;
    if (base === undefined) throw noBase();
    await downloads.bringAbsent(cache.byId(base.id) ?? base, { offset: 0, length: shown }, "requestTimeout");
  }

  /**
   * Saves new times of a content that is as it was, and makes no version. @returns undefined when it is another, or no
   * longer the current one. @throws Unreachable.
   */
  async #sameAgain(record: JournalCommit, cut: CutContent, base: CachedContent): Promise<WriteResult | undefined> {
    const { node, baseVersion, mtimeNs, ctimeNs } = record;
    if (base.version.node !== node || base.version.seq !== baseVersion || !(await isCutAs(cut, base))) return undefined;
    try {
      const answer = await this.#deps.operations.change("setAttr", {
        node,
        timeNs: ctimeNs,
        change: { mtimeNs: mtimeNs === ctimeNs ? null : mtimeNs },
      });
      const result = checkResult("setAttr", answer);
      return result.version === baseVersion ? result : undefined;
    } catch (error) {
      // The write finds out what becomes of the content then.
      if (!isRunnelError(error) || error.kind === "Unreachable") throw error;
      return undefined;
    }
  }

  async #open(record: JournalCommit, base: CachedContent | undefined): Promise<ComposedContent> {
    const { cache, data, downloads } = this.#deps;
    const shown = shownBytes(record);
    if (shown === 0) {
      if (base !== undefined) await this.#bringRecipe(base);
      return openComposed(data, { ...record, base: undefined });
    }
    if (base === undefined) throw noBase();
    const now = await this.#bringNeeded(record, base, shown);
    const verification: BaseVerification = {
      unverified: (range) => cache.missing(now, range),
      absent: (range) => cache.absent(now, range),
      verify: (range) => downloads.ensure(now, range, "requestTimeout"),
    };
    return openComposed(data, { ...record, base: await cache.openFile(now), verification });
  }

  /**
   * Brings the recipe of a large file that is written anew and was never read: it is little compared to what it may
   * spare.
   */
  async #bringRecipe({ id, version, sizeBytes }: CachedContent): Promise<void> {
    const { cache, downloads, ownRecipes } = this.#deps;
    const now = cache.byId(id);
    if (now === undefined || now.recipe !== undefined || version.node === 0 || sizeBytes < LARGE_BYTES) return;
    if (cache.absent(now, { offset: 0, length: sizeBytes }).length === 0) return;
    await ownRecipes.prepare(now);
    try {
      await downloads.bringRecipe(now, "requestTimeout");
    } catch (error) {
      // Without the old version more is sent.
      if (!isRunnelError(error) || error.kind === "Unreachable") throw error;
    }
  }

  /**
   * Brings what cutting the edit anew is likely to read of the base, and its recipe; all of it where there is none.
   * Cutting brings what turns out to be missing.
   */
  async #bringNeeded(record: JournalCommit, base: CachedContent, shown: number): Promise<CachedContent> {
    const { cache, downloads, ownRecipes } = this.#deps;
    const all = { offset: 0, length: shown };
    const needed = aroundEdits(dirtyRanges(record), shown);
    let now = cache.byId(base.id) ?? base;
    if (needed.length > PLACES_MAX || cache.absent(now, all).length === 0)
      return downloads.bringAbsent(now, all, "requestTimeout");
    if (now.recipe === undefined) await ownRecipes.prepare(now);
    for (const range of needed) now = await downloads.bringAbsent(now, range, "requestTimeout");
    // All that is needed may have been read before, without the recipe.
    now = await downloads.bringRecipe(now, "requestTimeout");
    return now.recipe === undefined ? downloads.bringAbsent(now, all, "requestTimeout") : now;
  }

  /**
   * The recipe of an edit is known by reading only around it, of anything else by cutting all. A file keeps the preset
   * of its base.
   */
  async #cut(record: JournalCommit, base: CachedContent | undefined, content: ComposedContent): Promise<CutContent> {
    const { executor, ownRecipes } = this.#deps;
    const recipe = base && (await ownRecipes.of(base)).recipe;
    if (recipe === undefined) await ownRecipes.likely(record.sizeBytes);
    // A file may be a copy of an object in fixed chunks: what is edited is cut as its bytes say from then on.
    const preset = recipe && !isCutFixed(recipe) ? presetOf(recipe) : undefined;
    if (recipe === undefined || preset === undefined || shownBytes(record) === 0)
      return new CutContent(content, executor, preset ?? presetFor(record.sizeBytes));
    for (;;) {
      const rechunked = await executor.rechunk(content.pieces, recipe.lengths, dirtyRanges(record), preset);
      const next = rechunkedRecipe(recipe, rechunked);
      if (!(await verifyFresh(content, rechunked, next))) return new CutContent(content, executor, preset, next);
    }
  }

  /**
   * The base's file, written to where it lies; undefined when nothing of it shows any more, or it is still needed as it
   * is.
   */
  async #edited(
    base: CachedContent,
    content: ComposedContent,
    next: VersionContent,
    users: BaseUsers,
    endHold: () => void,
  ): Promise<CachedContent | undefined> {
    const { cache } = this.#deps;
    const edit = content.asEdit();
    const now = cache.byId(base.id);
    if (now === undefined || edit.keptBytes === 0) return undefined;
    const all = {
      holds: 1 + users.holdsOf(now),
      release: () => {
        if (!users.release(now)) return false;
        endHold();
        return true;
      },
    };
    try {
      return await cache.edit(now, all, next, edit);
    } catch (error) {
      if (isRunnelError(error, "Busy")) return undefined;
      throw error;
    }
  }

  /** Gives the whole content to `take` as one file. */
  async #inOneFile<T>(record: JournalCommit, content: ComposedContent, take: (path: string) => Promise<T>): Promise<T> {
    const { data, dataFolder } = this.#deps;
    const layer = wholeLayer(record);
    if (layer !== undefined) return take(`${dataFolder}/${layer.file}`);
    const name = `composed-${record.instance.slice(0, 8)}-${record.n}-${++this.#composed}`;
    const target = await data.open(name, "createNew", OWN_FILE_MODE);
    try {
      await content.copyTo(target).finally(() => target.close());
      return await take(`${dataFolder}/${name}`);
    } finally {
      await data.removeFile(name);
    }
  }

  async #toldOf(delivery: Promise<WriteResult>): Promise<WriteResult> {
    try {
      const result = await delivery;
      this.#deps.operations.report(undefined);
      return result;
    } catch (error) {
      this.#deps.operations.report(error);
      throw error;
    }
  }

  /**
   * Tries until committed, refused, paused, or the request timeout is over; in its turn among others once on a
   * connection.
   */
  async #deliver(
    record: JournalCommit,
    { cut, guessed, transfer }: Pick<Outgoing, "cut" | "guessed"> & { transfer: Transfer },
    base: CachedContent | undefined,
    { mayStart, making, turn, paused }: Omit<SendOptions, "guesses"> & { paused: AbortSignal },
  ): Promise<WriteResult> {
    const { changes, uploads, session } = this.#deps;
    let isResumed = mayStart !== undefined;
    let references: References = "copies";
    const isLineFast = isFastLine(session.ratePerSecond);
    // The server has a supply, which may have what nobody here knows of [W210].
    const asksFirst = session.features.includes(SUPPLY_FEATURE);
    const beganMs = session.nowMs;
    for (;;) {
      paused.throwIfAborted();
      const outgoing: Outgoing = {
        cut,
        base: references === "copies" || references === "base" ? this.#knownBase(record, base) : undefined,
        guessed,
        references,
        isLineFast,
        asksFirst,
        transfer,
      };
      try {
        const sending = uploads.send(outgoing, {
          n: record.n,
          received: () => changes.received,
          node: record.node,
          base: record.baseVersion,
          mtimeNs: record.mtimeNs,
          ctimeNs: record.ctimeNs,
          isResumed,
          paused,
          after: isResumed ? [] : [...new Set([...(making === undefined ? [] : [making.n]), ...(turn?.after ?? [])])],
          ...(mayStart === undefined ? {} : { mayStart }),
          ...(turn === undefined ? {} : { turn }),
        });
        return await session.withRequestTimeout(sending, "write");
      } catch (error) {
        const isRefused = mayStart !== undefined && isRunnelError(error, "Stale");
        const fewer: References | undefined = isRefused ? undefined : fewerReferences(references, error);
        if (fewer !== undefined) {
          references = fewer;
          // All is sent, so all is cut: whatever may be wrong with a recipe made from the base's is not repeated.
          if (references === "none") cut.begin();
        } else if (isRunnelError(error, "Unreachable") && turn === undefined) {
          // On another connection what makes the file may be asked for after this.
          await making?.settled;
          await session.responsive(session.timeoutLeftMs(beganMs));
          isResumed = true;
        } else throw error;
      }
    }
  }

  /**
   * Version that the edit started from, as the server knows it: a later one than the cached base when layers over that
   * were committed before.
   */
  #knownBase(record: JournalCommit, base: CachedContent | undefined): Outgoing["base"] {
    const { cache } = this.#deps;
    const content = cache.find({ node: record.node, seq: record.baseVersion }) ?? (base && cache.byId(base.id)) ?? base;
    if (content?.recipe === undefined || content.version.node === 0) return undefined;
    return { version: content.version, recipe: content.recipe, content };
  }
}

/** Bytes of the base that show. */
function shownBytes(record: JournalCommit): number {
  return wholeLayer(record) !== undefined ? 0 : Math.min(record.baseBytes, record.sizeBytes);
}

/** Bytes that programs wrote of it. */
function noBase(): RunnelError {
  return new RunnelError("Gone", "commit", "The version that was edited is no longer here.");
}

/** Ranges of at most AROUND_BYTES around the edits, within the base; in order, joined where they are near. */
function aroundEdits(dirty: readonly ByteRange[], shown: number): ByteRange[] {
  const joined: ByteRange[] = [];
  for (const { offset, length } of dirty.toSorted((one, other) => one.offset - other.offset)) {
    const from = Math.max(0, Math.min(shown, offset - AROUND_BYTES));
    const end = Math.min(shown, offset + length + AROUND_BYTES);
    const last = joined.at(-1);
    if (end <= from) continue;
    if (last !== undefined && from <= last.offset + last.length + NEAR_BYTES)
      last.length = Math.max(last.length, end - last.offset);
    else joined.push({ offset: from, length: end - from });
  }
  return joined;
}

/** Says whether it has the chunks of the other one; it is cut as far as that is so, and once. */
async function isCutAs(cut: CutContent, { recipe, sizeBytes }: CachedContent): Promise<boolean> {
  if (recipe === undefined || sizeBytes === 0 || cut.sizeBytes !== sizeBytes) return false;
  for await (const { recipe: some, from } of cut.windows()) {
    const same = encodeRecipe(sliceRecipe(recipe, from, from + some.lengths.length));
    if (Buffer.compare(same, encodeRecipe(some)) !== 0) return false;
  }
  return true;
}

/**
 * Verifies what was read of the base: the new chunks, and those next to them. @returns true when some of it was
 * unverified: what was cut may have been of bytes that have been put right since.
 */
async function verifyFresh(content: ComposedContent, { spans }: Rechunked, next: Recipe): Promise<boolean> {
  const offsets = chunkOffsets(next);
  let wasUnverified = false;
  let at = 0;
  for (const { kept, fresh } of spans) {
    const from = Math.max(0, (offsets[at + kept] ?? 0) - 1);
    at += kept + fresh;
    const end = Math.min(content.sizeBytes, (offsets[at] ?? 0) + 1);
    if (fresh > 0 && (await content.verify(from, end - from))) wasUnverified = true;
  }
  return wasUnverified;
}
