// Sends one content: makes one file of base and layers, cuts it while it is sent, and delivers it through links that come and go. What it leaves behind is for the caller:
// to keep the file as cached content, or to let it go.
import type { Clock, DiskFile, DiskRoot, Executor } from "@runnel/shared";
import { RunnelError, TIMING, isRunnelError } from "@runnel/shared";
import type { Cache, CachedContent } from "../cache/cache.ts";
import type { JournalCommit } from "../journal/journal.ts";
import type { Operations } from "../wire/operations.ts";
import type { Session } from "../wire/session.ts";
import type { Composition } from "./compose.ts";
import { compose, isWholeLayer } from "./compose.ts";
import { CutFile } from "./cut-file.ts";
import type { Downloads } from "./download.ts";
import type { References } from "./upload-plan.ts";
import type { Outgoing, Uploads, WriteResult } from "./upload.ts";
import { fewerReferences } from "./upload.ts";

export interface SenderParts {
  operations: Operations;
  session: Session;
  cache: Cache;
  /** The journal's data folder, and its path. */
  data: DiskRoot;
  dataFolder: string;
  downloads: Downloads;
  uploads: Uploads;
  executor: Executor;
  clock: Clock;
}

/** A content in one file, ready to be sent. */
interface Prepared {
  fileName: string;
  cut: CutFile;
  /** The file was made by composing and belongs to nobody else. */
  isComposed: boolean;
}

export interface Sent {
  result: WriteResult;
  /** Takes the file into the cache, as the version it became. */
  keep(): Promise<CachedContent>;
  /** The file is not needed any more. */
  release(): Promise<void>;
}

const OWN_FILE_MODE = 0o600;

export class Sender {
  private readonly parts: SenderParts;
  private composed = 0;

  constructor(parts: SenderParts) {
    this.parts = parts;
  }

  /**
   * Commits a recorded content over `base`. With `mayStart` it may have been executed before: it is settled by its number, and begun only if that says so
   * (else Stale). @throws Unreachable when the patience is over, and the server's refusals.
   */
  async send(record: JournalCommit, base: CachedContent | undefined, mayStart?: () => boolean): Promise<Sent> {
    const { cache, data, dataFolder } = this.parts;
    const prepared = await this.prepare(record, base);
    const { fileName, cut } = prepared;
    const release = async (): Promise<void> => {
      if (prepared.isComposed) await data.removeFile(fileName);
    };
    try {
      const result = await this.toldOf(this.deliver(record, prepared, base, mayStart));
      const version = { node: result.node, seq: result.version };
      const { recipe, oid } = await cut.whole();
      const keep = (): Promise<CachedContent> =>
        cache.adopt(`${dataFolder}/${fileName}`, version, record.sizeBytes, recipe, oid);
      return { result, keep, release };
    } catch (error) {
      await release();
      throw error;
    } finally {
      await cut.file.close();
    }
  }

  private async prepare(record: JournalCommit, base: CachedContent | undefined): Promise<Prepared> {
    const { data, executor } = this.parts;
    const isWhole = isWholeLayer({ ...record, base: undefined });
    const [layer] = record.layers;
    const fileName =
      isWhole && layer !== undefined
        ? layer.file
        : `composed-${record.instance.slice(0, 8)}-${record.n}-${++this.composed}`;
    if (!isWhole) await this.composeFile(fileName, record, base);
    const file = await data.open(fileName, "read");
    return { fileName, cut: new CutFile(file, record.sizeBytes, executor), isComposed: !isWhole };
  }

  private async composeFile(fileName: string, record: JournalCommit, base: CachedContent | undefined): Promise<void> {
    const { cache, data, downloads } = this.parts;
    let from: DiskFile | undefined;
    const shown = Math.min(record.baseBytes, record.sizeBytes);
    if (shown > 0) {
      if (base === undefined) throw new RunnelError("Gone", "commit", "The version that was edited is no longer here.");
      from = await cache.openFile(await downloads.ensure(base, { offset: 0, length: shown }));
    }
    const target = await data.open(fileName, "createNew", OWN_FILE_MODE);
    try {
      const of: Composition = {
        base: from,
        baseBytes: record.baseBytes,
        sizeBytes: record.sizeBytes,
        layers: record.layers,
      };
      await compose(data, of, target);
    } finally {
      await target.close();
      await from?.close();
    }
  }

  private async toldOf(delivery: Promise<WriteResult>): Promise<WriteResult> {
    try {
      const result = await delivery;
      this.parts.operations.tell(undefined);
      return result;
    } catch (error) {
      this.parts.operations.tell(error);
      throw error;
    }
  }

  /** Tries until committed, refused, or the patience is over. */
  private async deliver(
    record: JournalCommit,
    prepared: Prepared,
    base: CachedContent | undefined,
    mayStart: (() => boolean) | undefined,
  ): Promise<WriteResult> {
    const { uploads, operations, session, clock } = this.parts;
    const { cut } = prepared;
    let isResumed = mayStart !== undefined;
    let references: References = "copies";
    let heardMs = clock.bootMs();
    for (;;) {
      const outgoing: Outgoing = {
        cut,
        base: references === "copies" ? this.knownBase(record, base) : undefined,
        references,
      };
      try {
        return await uploads.send(outgoing, {
          n: record.n,
          received: operations.received,
          node: record.node,
          base: record.baseVersion,
          mtimeNs: record.mtimeNs,
          ctimeNs: record.ctimeNs,
          isResumed,
          ...(mayStart === undefined ? {} : { mayStart }),
        });
      } catch (error) {
        const fewer: References | undefined = mayStart === undefined ? fewerReferences(references, error) : undefined;
        if (fewer !== undefined) references = fewer;
        else if (isRunnelError(error, "Unreachable")) {
          if (session.isConnected) heardMs = clock.bootMs();
          await session.connected(Math.max(1, heardMs + TIMING.patienceMs - clock.bootMs()));
          heardMs = clock.bootMs();
          isResumed = true;
        } else throw error;
      }
    }
  }

  /** What the edit started from, as the server knows it: a later version than the cached base when layers over that were committed before. */
  private knownBase(record: JournalCommit, base: CachedContent | undefined): Outgoing["base"] {
    const newest = this.parts.cache.find({ node: record.node, seq: record.baseVersion }) ?? base;
    if (newest?.recipe === undefined || newest.version.node === 0) return undefined;
    return { version: newest.version, recipe: newest.recipe };
  }
}
