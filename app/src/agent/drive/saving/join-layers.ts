// Joins what was written to a file and has not been sent. Each save of an open file adds a layer to those of the save
// that it takes the place of, and a program may save it thousands of times without a line: in fewer files it takes as
// much disk, as many descriptors, and as long records, as what is left of it.
import type { ByteRange, Drive } from "@runnel/native/drive";
import { type DiskRoot, isRunnelError } from "@runnel/shared";
import { endOf, sumOf } from "../../cache/ranges.ts";
import type { Journal, JournalCommit } from "../../journal/journal.ts";
import { type ComposedContent, openComposed } from "../../transfer/compose.ts";

type Layers = JournalCommit["layers"];

export interface LayerJoinsDeps {
  drive: Pick<Drive, "joinLayers">;
  journal: Pick<Journal, "discard" | "dataFolder">;
  /** The journal's data folder. */
  data: DiskRoot;
  /** Lists files of what programs have open, as it was opened; but of a version what is read from as it is. */
  filesInUse(but: number): Promise<ReadonlySet<string>>;
  log(message: string, error: unknown): void;
}

/** Layers that are worth joining: what each save costs is little to what a file, and its way to the disk, cost. */
const JOINED_MIN = 8;
/** Layers up to this size are joined whatever comes after them. */
const SMALL_BYTES = 64 * 1024;
/** Layers from this size on stay as they are: a program waits while what is joined is copied. */
const LARGE_BYTES = 256 * 1024 * 1024;
const OWN_FILE_MODE = 0o600;

/** Layers of a content, and those of the same content that some of them were joined to. */
export class JoinedLayers {
  readonly of: Layers;
  readonly #layers: Layers;
  /** Files whose layers were joined, and the one that was made; "" where nothing of them shows. */
  readonly #former: readonly string[];
  readonly #file: string;
  readonly #deps: LayerJoinsDeps;
  #isRecorded = false;

  constructor(deps: LayerJoinsDeps, of: Layers, from: number, made: Layers[number] | undefined) {
    this.#deps = deps;
    this.of = of;
    this.#layers = [...of.slice(0, from), ...(made === undefined ? [] : [made])];
    this.#former = of.slice(from).map(({ file }) => file);
    this.#file = made?.file ?? "";
  }

  inPlaceIn(record: JournalCommit): JournalCommit {
    return { ...record, layers: this.#layers };
  }

  /** A record names the file: the open file that has those layers reads from it, too. */
  recorded(openFile: number): void {
    this.#isRecorded = true;
    const { drive, journal } = this.#deps;
    const pathOf = (file: string): string => `${journal.dataFolder}/${file}`;
    // The drive reads on from what it has open where that fails.
    drive.joinLayers(openFile, this.#former.map(pathOf), this.#file === "" ? "" : pathOf(this.#file));
  }

  /** Removes the file where no record names it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isRecorded || this.#file === "") return;
    const { journal, log } = this.#deps;
    await journal.discard([this.#file]).catch((error: unknown) => log("Joined layers could not be removed.", error));
  }
}

export class LayerJoins {
  readonly #deps: LayerJoinsDeps;
  #count = 0;

  constructor(deps: LayerJoinsDeps) {
    this.#deps = deps;
  }

  /**
   * Joins the newest layers of a content, shown as that version, once there are many. The file is nobody's before a
   * record names it. @returns undefined when they stay as they are, also for want of space.
   */
  async join({ layers, instance, n }: JournalCommit, version: number): Promise<JoinedLayers | undefined> {
    if (firstToJoin(layers) === undefined) return undefined;
    const inUse = await this.#deps.filesInUse(version);
    const from = firstToJoin(layers, inUse);
    if (from === undefined) return undefined;
    const joined = layers.slice(from);
    const sizeBytes = Math.max(
      ...joined.map(({ extents }) => extents.reduce((end, each) => Math.max(end, endOf(each)), 0)),
    );
    if (sizeBytes === 0) return new JoinedLayers(this.#deps, layers, from, undefined);
    const file = `joined-${instance.slice(0, 8)}-${n}-${++this.#count}`;
    try {
      const extents = await this.#write(file, joined, sizeBytes);
      return new JoinedLayers(this.#deps, layers, from, { file, extents });
    } catch (error) {
      // It may have been sent, or given up, meanwhile.
      if (!isRunnelError(error)) throw error;
      this.#deps.log("Layers of an unsent content could not be joined.", error);
      await this.#deps.journal.discard([file]).catch(() => undefined);
      return undefined;
    }
  }

  async #write(file: string, layers: Layers, sizeBytes: number): Promise<ByteRange[]> {
    const { data } = this.#deps;
    const composed = await openComposed(data, { base: undefined, baseBytes: 0, sizeBytes, layers });
    try {
      const target = await data.open(file, "createNew", OWN_FILE_MODE);
      await composed.copyTo(target).finally(() => target.close());
      return extentsOf(composed);
    } finally {
      await composed.close();
    }
  }
}

/**
 * Finds the oldest layer that is joined with all newer ones: none of these is larger than what comes after it, so that
 * no byte is written often. @returns undefined when they are too few.
 */
export function firstToJoin(layers: Layers, inUse: ReadonlySet<string> = new Set()): number | undefined {
  let from = layers.length;
  let newerBytes = 0;
  for (; from > 0; from--) {
    const layer = layers[from - 1];
    if (layer === undefined || inUse.has(layer.file)) break;
    const bytes = sumOf(layer.extents);
    if (bytes >= LARGE_BYTES || (from < layers.length && bytes > Math.max(newerBytes, SMALL_BYTES))) break;
    newerBytes += bytes;
  }
  return layers.length - from < JOINED_MIN ? undefined : from;
}

/** Lists where a content has bytes. */
function extentsOf({ pieces }: ComposedContent): ByteRange[] {
  const extents: ByteRange[] = [];
  let at = 0;
  for (const { file, length } of pieces) {
    const last = extents.at(-1);
    if (file !== undefined && last !== undefined && endOf(last) === at) last.length += length;
    else if (file !== undefined) extents.push({ offset: at, length });
    at += length;
  }
  return extents;
}
