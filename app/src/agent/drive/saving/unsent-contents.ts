// Shows programs the content of a file that could not be sent, as on a disk of this computer, so that what they save
// next holds it. It lies in the journal's folder: a layer that holds all of it is it; else it is put together of the
// layers and of what is here of the version below them. What is not here of that comes when it is read.
import type { ByteRange, Drive } from "@runnel/native/drive";
import { type DiskRoot, type NodeState, RunnelError, isRunnelError } from "@runnel/shared";
import type { Save } from "../../changes/own-change.ts";
import type { Cache, Hold } from "../../cache/cache.ts";
import { addRange, missingIn } from "../../cache/ranges.ts";
import type { Journal, JournalCommit } from "../../journal/journal.ts";
import { openComposed, wholeLayer } from "../../transfer/compose.ts";
import type { Downloads } from "../../transfer/download.ts";
import type { Session } from "../../wire/session.ts";
import type { Bases } from "./bases.ts";
import type { RequestOfOp } from "../request-of-op.ts";
import type { Saves } from "./saves.ts";
import type { Tree, UnsentState } from "../tree.ts";

export interface UnsentContentsDeps {
  drive: Drive;
  tree: Tree;
  saves: Saves;
  bases: Bases;
  cache: Cache;
  downloads: Downloads;
  journal: Pick<Journal, "onRemoving" | "discard">;
  /** The journal's data folder, and its path. */
  data: DiskRoot;
  dataFolder: string;
  session: Pick<Session, "isResponsive">;
  epoch(): string;
  log(message: string, error: unknown): void;
}

/** A content that the drive has; its id is the version that it is shown as. */
interface Given {
  record: JournalCommit;
  file: string;
  /** The file was made for this. */
  isOwnFile: boolean;
  base: Hold | undefined;
  present: ByteRange[];
}

const OWN_FILE_MODE = 0o600;
/** Contents that the drive has before anybody asks for them. */
const OFFERED_MAX = 4_096;

export class UnsentContents {
  readonly #deps: UnsentContentsDeps;
  /** Contents that the drive has, or gets, by the version that they are shown as; the oldest first. */
  readonly #given = new Map<number, Given | Promise<Given>>();
  /** Versions of those that are files of the journal, by file and by node. */
  readonly #ofFile = new Map<string, Set<number>>();
  readonly #ofNode = new Map<number, Set<number>>();
  /** Versions that no program sees any more, and that some had open. */
  readonly #left = new Set<number>();
  /** Files of these that nothing else needs. */
  readonly #kept = new Set<string>();

  constructor(deps: UnsentContentsDeps) {
    this.#deps = deps;
    deps.journal.onRemoving((file) => this.#isRead(file));
    deps.tree.unsentOf = (state) => this.#stateOf(state);
    for (const save of deps.saves.unsent()) deps.saves.show(save);
  }

  /** Called when a save of the node has changed: programs may see another content of it. */
  changed(node: number): void {
    const { drive, tree } = this.#deps;
    const state = tree.known(node);
    if (state !== undefined) drive.putNode(tree.entry(state), true);
    this.clean(node);
  }

  /** Called when a file was closed: what only that has read goes. */
  closed(): void {
    for (const version of this.#left) this.#clean(version);
  }

  /** Called when a save is shown from now on: the drive opens a whole content without asking. */
  shown(save: Save): void {
    const { record, shownAs } = save;
    if (record.sizeBytes > 0 && wholeLayer(record) !== undefined && !this.#given.has(shownAs)) {
      this.#dropOldest();
      try {
        this.#putWhole(shownAs, record);
      } catch {
        // Whoever opens it is told.
      }
    }
    this.changed(record.node);
  }

  /** @returns false when the file has no such content. */
  async open(request: RequestOfOp<"open">): Promise<boolean> {
    const { drive, tree, saves, log } = this.#deps;
    const state = await tree.node(request.node);
    const save = this.#shownOf(state);
    if (save === undefined) return false;
    const version = save.shownAs;
    try {
      if (save.record.sizeBytes > 0) await this.#give(save);
    } catch (error) {
      // Without space or a line it cannot be shown now: a program that opens it is to hear so, and may try again.
      if (!isRunnelError(error, "Gone", "Lost", "Corrupt")) throw error;
      log("An unsent content cannot be shown: its file shows the server's.", error);
      saves.hide(save);
      this.changed(state.node);
      return false;
    }
    // It may have been sent meanwhile.
    if (this.#shownOf(tree.known(request.node) ?? state)?.shownAs !== version) return this.open(request);
    drive.putNode(tree.entry(tree.known(request.node) ?? state, request.node), false);
    drive.opened(request.id, { content: save.record.sizeBytes > 0 ? version : 0, version });
    return true;
  }

  /** Brings ranges that lie in the version below the layers. @returns false when the content is none of these. */
  async fetch(request: RequestOfOp<"fetch">): Promise<boolean> {
    const giving = this.#given.get(request.content);
    if (giving === undefined) return false;
    const { drive, cache, downloads, data } = this.#deps;
    const given = await giving;
    const base = given.base?.content;
    for (const range of missingIn(given.present, request)) {
      if (base === undefined) break;
      await downloads.ensure(base, range, "none");
      const [source, target] = [await cache.openFile(base), await data.open(given.file, "write")];
      try {
        for (let done = 0; done < range.length;) {
          const copied = await target.copyFrom(source, range.offset + done, range.offset + done, range.length - done);
          if (copied === 0) break;
          done += copied;
        }
      } finally {
        await Promise.all([source.close(), target.close()]);
      }
      addRange(given.present, range);
    }
    drive.putRanges(request.content, given.present);
    drive.done(request.id);
    return true;
  }

  /** Releases contents of a node that no program sees any more, and what was left. */
  clean(node: number): void {
    for (const version of this.#ofNode.get(node) ?? []) this.#clean(version);
    this.closed();
  }

  #clean(version: number): void {
    const { drive, saves } = this.#deps;
    const giving = this.#given.get(version);
    if (giving === undefined || saves.isShown(version)) return void this.#left.delete(version);
    if (drive.dropContent(version)) this.#remove(version, giving);
    else this.#left.add(version);
  }

  /** Says whether a program reads from a file that nothing else needs. Who does not have it open opens it no more. */
  #isRead(file: string): boolean {
    let isRead = false;
    for (const version of this.#ofFile.get(file) ?? []) {
      if (this.#deps.drive.dropContent(version)) this.#forget(version);
      else {
        this.#left.add(version);
        isRead = true;
      }
    }
    if (isRead) this.#kept.add(file);
    return isRead;
  }

  /** The oldest that nobody has open go where there are many: whoever opens them asks. */
  #dropOldest(): void {
    if (this.#given.size < OFFERED_MAX) return;
    for (const [version, giving] of this.#given) {
      if (giving instanceof Promise || giving.isOwnFile || !this.#deps.drive.dropContent(version)) continue;
      this.#forget(version);
      return;
    }
  }

  /**
   * Lists the files of the journal that the drive has as contents, and those of which contents are that programs may
   * save an edit of: of all but that version.
   */
  async filesInUse(but: number): Promise<Set<string>> {
    const files = new Set<string>();
    for (const version of this.#given.keys()) this.#clean(version);
    for (const [version, giving] of this.#given) {
      const given = giving instanceof Promise ? await giving.catch(() => undefined) : giving;
      const layers = version === but ? [] : this.#deps.saves.layersShown(version);
      for (const { file } of [...(given === undefined ? [] : [given]), ...layers]) files.add(file);
    }
    return files;
  }

  /** Releases a content that is given up. @returns false when a program has it open. */
  release({ shownAs }: Save): boolean {
    const giving = this.#given.get(shownAs);
    if (giving === undefined) return true;
    if (!this.#deps.drive.dropContent(shownAs)) return false;
    this.#remove(shownAs, giving);
    return true;
  }

  #remove(version: number, giving: Given | Promise<Given>): void {
    this.#forget(version);
    Promise.resolve(giving)
      .then((given) => this.#free(given))
      .catch(() => undefined);
  }

  /** The drive does not have it any more. */
  #forget(version: number): void {
    const given = this.#given.get(version);
    this.#given.delete(version);
    this.#left.delete(version);
    if (given === undefined || given instanceof Promise) return;
    leave(this.#ofFile, given.file, version);
    leave(this.#ofNode, given.record.node, version);
  }

  #shownOf(state: NodeState): Save | undefined {
    const { saves, epoch, session } = this.#deps;
    return saves.shownOf(state, epoch(), session.isResponsive);
  }

  #stateOf(state: NodeState): UnsentState | undefined {
    const save = this.#shownOf(state);
    if (save === undefined) return undefined;
    const { sizeBytes, mtimeNs, ctimeNs } = save.record;
    const later = this.#deps.tree.pending.timesAfter(save.n, state.node);
    return { version: save.shownAs, sizeBytes, mtimeNs, ctimeNs, ...later };
  }

  async #give(save: Save): Promise<void> {
    const { shownAs, record } = save;
    const giving = this.#given.get(shownAs);
    if (giving !== undefined) await giving;
    else if (wholeLayer(record) !== undefined) this.#putWhole(shownAs, record);
    else {
      const making = this.#putMade(shownAs, record);
      this.#given.set(shownAs, making);
      try {
        const given = await making;
        if (this.#given.get(shownAs) === making) this.#keep(shownAs, given);
      } catch (error) {
        this.#given.delete(shownAs);
        throw error;
      }
    }
  }

  /** Gives the drive the layer that holds all of a content. */
  #putWhole(version: number, record: JournalCommit): void {
    const present = [{ offset: 0, length: record.sizeBytes }];
    const given = { record, file: wholeLayer(record)?.file ?? "", isOwnFile: false, base: undefined, present };
    this.#put(version, given);
    this.#keep(version, given);
  }

  async #putMade(version: number, record: JournalCommit): Promise<Given> {
    const given = await this.#make(version, record);
    try {
      this.#put(version, given);
    } catch (error) {
      await this.#free(given);
      throw error;
    }
    return given;
  }

  #put(version: number, { record, file, present }: Given): void {
    const { node, sizeBytes } = record;
    const path = `${this.#deps.dataFolder}/${file}`;
    this.#deps.drive.putContent({ id: version, node, version, path, sizeBytes, present });
  }

  #keep(version: number, given: Given): void {
    this.#given.set(version, given);
    join(this.#ofFile, given.file, version);
    join(this.#ofNode, given.record.node, version);
  }

  async #make(version: number, record: JournalCommit): Promise<Given> {
    const { data, bases, cache } = this.#deps;
    const all = { offset: 0, length: record.sizeBytes };
    const file = `shown-${version}`;
    const hold = await bases.hold(record);
    const base = hold?.content;
    try {
      if (base === undefined && Math.min(record.baseBytes, record.sizeBytes) > 0)
        throw new RunnelError("Gone", "show", "The version that was edited is no longer here.");
      if (base !== undefined) await cache.verify(base);
      const shown = base && { offset: 0, length: Math.min(record.baseBytes, record.sizeBytes, base.sizeBytes) };
      const verification = {
        unverified: () => [],
        absent: (range: ByteRange) => (base === undefined ? [] : cache.missing(base, range)),
        verify: async () => undefined,
      };
      const composed = await openComposed(data, {
        ...record,
        baseBytes: shown?.length ?? 0,
        base: base && (await cache.openFile(base)),
        verification,
      });
      try {
        const target = await data.open(file, "createNew", OWN_FILE_MODE);
        const absent = await composed.copyTo(target).finally(() => target.close());
        return { record, file, isOwnFile: true, base: hold, present: missingIn(absent, all) };
      } finally {
        await composed.close();
      }
    } catch (error) {
      await this.#free({ record, file, isOwnFile: true, base: hold, present: [] });
      throw error;
    }
  }

  async #free({ file, isOwnFile, base }: Given): Promise<void> {
    base?.[Symbol.dispose]();
    const { data, journal } = this.#deps;
    if (this.#kept.delete(file)) await journal.discard([file]);
    // A file left there is removed at the next start.
    if (isOwnFile) await data.removeFile(file).catch(() => undefined);
  }
}

function join<Key>(sets: Map<Key, Set<number>>, key: Key, version: number): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(version));
}

function leave<Key>(sets: Map<Key, Set<number>>, key: Key, version: number): void {
  const versions = sets.get(key);
  versions?.delete(version);
  if (versions?.size === 0) sets.delete(key);
}
