// Keeps the notices of a volume in a log beside its index too, so that whoever loses the index still knows what people
// were to be told.
import { isDeepStrictEqual } from "node:util";
import type { DiskRoot, Log, Notice } from "@runnel/shared";
import { LIMITS, STATUS_ITEM, check, decodeCbor, encodeCbor, isRunnelError, openLog } from "@runnel/shared";
import { z } from "zod";
import { SerialQueue } from "../host/serial-queue.ts";
import type { NoticeStore } from "../meta/meta-store.ts";

export const HISTORY_FOLDER = "history";
export const HISTORY_FORMAT = { magic: "RNLH", version: 1 };
/** Records after which the log is written anew, with what is kept. */
const RECORDS_MAX = 4096;
const PART = Math.min(1000, LIMITS.statusEntriesPerItem);

/** `all`: none of those before; `note`: kept; `forget`: kept no more. */
const RECORD = z.tuple([z.enum(["all", "note", "forget"]), STATUS_ITEM]);
type Act = z.output<typeof RECORD>[0];

/** The volume's notices, kept in both places. Opened before its index, which `restore` or `follow` gives it. */
export class NoticeHistory implements NoticeStore {
  readonly #data: DiskRoot;
  readonly #warn: (message: string, error?: unknown) => void;
  #log: Log | undefined;
  #records = 0;
  #index: NoticeStore | undefined;
  readonly #turns = new SerialQueue();

  private constructor(data: DiskRoot, warn: (message: string, error?: unknown) => void) {
    this.#data = data;
    this.#warn = warn;
  }

  /** A damaged one is begun anew. @throws Version when a newer Runnel wrote it, and what the disk throws. */
  static async open(data: DiskRoot, warn: (message: string, error?: unknown) => void): Promise<NoticeHistory> {
    const history = new NoticeHistory(data, warn);
    if (await hasFolder(data)) await history.#begin();
    return history;
  }

  /** Gives it an index that knows of no notice: it is told all that are kept. */
  async restore(index: NoticeStore): Promise<void> {
    await this.#replay(async (act, notices) => {
      if (act === "all") await index.forgetNotices(await index.notices());
      if (act === "forget") await index.forgetNotices(notices);
      else if (notices.length > 0) await index.note(notices);
    });
    this.#index = index;
  }

  /** Gives it the index that it had before, which knows best. */
  async follow(index: NoticeStore): Promise<void> {
    this.#index = index;
    let [kept, isPlain] = [[] as Notice[], true];
    await this.#replay((act, notices) => {
      kept = act === "all" ? [] : [...kept, ...notices];
      isPlain &&= act !== "forget";
    });
    if (!isPlain || !isDeepStrictEqual(kept, await index.notices())) await this.#writeAnew();
  }

  /** Before there is an index the notices wait for it in the log. */
  note(notices: readonly Notice[]): Promise<void> {
    return this.#turns.run(async () => {
      await this.#append([["note", notices]]);
      await this.#index?.note(notices);
      if (this.#records > RECORDS_MAX) await this.#writeAnew();
    });
  }

  async notices(): Promise<Notice[]> {
    return (await this.#index?.notices()) ?? [];
  }

  forgetNotices(notices: readonly Notice[]): Promise<void> {
    return this.#turns.run(async () => {
      await this.#append([["forget", notices]]);
      await this.#index?.forgetNotices(notices);
    });
  }

  async close(): Promise<void> {
    await this.#turns.idle();
    await this.#log?.close();
  }

  async #append(records: readonly [Act, readonly Notice[]][]): Promise<void> {
    const log = this.#log ?? (await this.#begin());
    const parts = records.flatMap(([act, notices]) => inParts(notices).map((part) => encodeCbor([act, part])));
    await log.append(parts);
    this.#records += parts.length;
  }

  /** Writes what the index has into a new segment, and drops the old ones. */
  async #writeAnew(): Promise<void> {
    const notices = await this.notices();
    const log = this.#log ?? (await this.#begin());
    const segment = await log.rotate();
    this.#records = 0;
    await this.#append([
      ["all", []],
      ["note", notices],
    ]);
    await log.dropBefore(segment);
  }

  async #begin(): Promise<Log> {
    try {
      this.#log = (await openLog(this.#data, HISTORY_FOLDER, HISTORY_FORMAT)).log;
      this.#records = 0;
      await this.#replay(() => void this.#records++);
    } catch (error) {
      if (!isRunnelError(error, "Corrupt", "Invalid")) throw error;
      this.#warn("The history of the volume's notices is damaged and is begun anew.", error);
      await this.#log?.close().catch(() => undefined);
      await emptyFolder(this.#data);
      this.#log = (await openLog(this.#data, HISTORY_FOLDER, HISTORY_FORMAT)).log;
      this.#records = 0;
    }
    return this.#log;
  }

  async #replay(visit: (act: Act, notices: Notice[]) => void | Promise<void>): Promise<void> {
    await this.#log?.replay(async ({ payload }) => {
      const [act, entries] = check(RECORD, decodeCbor(payload), "record of the history");
      await visit(
        act,
        entries.filter((entry) => entry.kind !== "excluded"),
      );
    });
  }
}

/** Returns at least one part, which may be empty. */
function inParts(notices: readonly Notice[]): (readonly Notice[])[] {
  const parts = [notices.slice(0, PART)];
  for (let from = PART; from < notices.length; from += PART) parts.push(notices.slice(from, from + PART));
  return parts;
}

async function hasFolder(data: DiskRoot): Promise<boolean> {
  try {
    await data.stat(HISTORY_FOLDER);
    return true;
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
    return false;
  }
}

async function emptyFolder(data: DiskRoot): Promise<void> {
  const paths: string[] = [];
  await data.list(HISTORY_FOLDER, (entries) => {
    for (const { name } of entries) if (name !== undefined) paths.push(`${HISTORY_FOLDER}/${name}`);
  });
  for (const path of paths) await data.removeFile(path);
}
