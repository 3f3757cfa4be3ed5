// ChangeBatch: hands operations of other programs to the volume, some at a time, and draws what follows from its
// answers.
import type { Clock, DiskRoot, Executor, Recipe, VersionId } from "@runnel/shared";
import type { DiskRow, ExternalOperation, MetaStore, Planned } from "../../../meta/meta-store.ts";
import type { ContentCallbacks } from "../../content-store.ts";
import type { BusyNames } from "../disk/busy-names.ts";
import type { DiskRows } from "../disk/disk-rows.ts";
import type { ExcludedNames } from "../disk/excluded-names.ts";
import type { ShownRecords } from "../disk/shown-records.ts";
import type { Observation } from "./observation.ts";
import { isLinked } from "./observation.ts";

/** Operations to one batch of the volume. */
const BATCH_OPERATIONS = 1000;

export interface ExternalChange {
  operation: ExternalOperation;
  /** The name it is about. */
  observed: Observation | undefined;
  /** The row that a removal is about. */
  removed?: DiskRow;
  /** Recipe of what was written: made at once, since the file goes on changing. */
  recipe?: Recipe | undefined;
}

export interface ExternalChangesDeps {
  root: DiskRoot;
  rows: DiskRows;
  shown: ShownRecords;
  meta: MetaStore;
  clock: Clock;
  executor: Executor | undefined;
  callbacks: Pick<ContentCallbacks, "externalChanges">;
  excluded: ExcludedNames;
  busy: BusyNames;
  /** A commit of other programs is on disk by nature. */
  noteExternal(seq: number): Promise<void>;
  hasPending(): boolean;
  /** `path`: that it had. */
  lost(version: VersionId, path: string): void;
  /** A commit not yet applied stands in the way: to be probed when it is applied. */
  superseded(path: string): void;
  /** Has the path probed later. */
  again(path: string, delayMs: number): void;
  /** Called when its tuple is another one, through a change elsewhere. */
  affected(path: string): void;
  folderMoved(from: string, to: string): void;
  /** A young tuple: to be probed again when it has settled. */
  unsettled(path: string): void;
}

export class ChangeBatch {
  readonly #deps: ExternalChangesDeps;
  #waiting: ExternalChange[] = [];
  #folders: number[] = [];

  constructor(deps: ExternalChangesDeps) {
    this.#deps = deps;
  }

  async add(...changes: ExternalChange[]): Promise<void> {
    this.#waiting.push(...changes);
    if (this.#waiting.length >= BATCH_OPERATIONS) await this.flush();
  }

  /** Tells what waits. */
  async flush(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    if (batch.length > 0) await this.#report(batch);
  }

  /** Folders made since the last call. */
  takeFolders(): number[] {
    const folders = this.#folders;
    this.#folders = [];
    return folders;
  }

  /** Tells the removal of names, of a folder with all that was recorded in it. */
  async removed(removed: readonly DiskRow[]): Promise<void> {
    if (removed.length === 0) return;
    const stack = removed.map((row) => ({ row, isEmptied: false }));
    for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
      if (top.row.stat.type === "folder" && !top.isEmptied) {
        stack.push({ row: top.row, isEmptied: true });
        for (const inside of await this.#deps.rows.ofFolder(top.row.node))
          stack.push({ row: inside, isEmptied: false });
        continue;
      }
      const { folder, name, node } = top.row;
      await this.add({
        operation: { op: "externalRemove", folder, name, node },
        observed: undefined,
        removed: top.row,
      });
    }
    await this.flush();
    this.#deps.rows.movedFolders();
    for (const { node, stat } of removed) if (isLinked({ stat })) await this.probeOtherNames(node);
  }

  /** The link count and ctime of a file's other names have changed. */
  async probeOtherNames(node: number): Promise<void> {
    for (const { folder, name } of await this.#deps.rows.ofNode(node)) {
      const path = await this.#deps.rows.pathOfName(folder, name);
      if (path !== undefined) this.#deps.affected(path);
    }
  }

  async #report(batch: readonly ExternalChange[]): Promise<void> {
    const planned = await this.#deps.callbacks.externalChanges(
      batch.map(({ operation }) => operation),
      (operation) => this.#isSuperseded(operation),
    );
    let seq = 0;
    const hasPending = this.#deps.hasPending();
    const recipes: ExternalOperation[] = [];
    for (const [index, reported] of batch.entries()) {
      const answer = planned[index];
      if (answer === undefined) continue;
      if (reported.removed !== undefined && answer.ok && answer.change === undefined)
        await this.#unremoved(reported.removed, hasPending);
      if (answer.ok && answer.change !== undefined) {
        seq = Math.max(seq, answer.change.seq);
        if (isNewFolder(reported)) this.#folders.push(answer.result.node);
        const { node, version } = answer.result;
        if (reported.recipe !== undefined)
          recipes.push({ op: "setRecipe", version: { node, seq: version }, recipe: reported.recipe });
      }
      await this.#settle(reported, answer, hasPending);
    }
    if (recipes.length > 0) await this.#deps.callbacks.externalChanges(recipes, () => false);
    if (this.#deps.rows.hasChanges) await this.#deps.rows.store((await this.#deps.meta.facts()).appliedSeq);
    if (seq > 0) await this.#deps.noteExternal(seq);
  }

  /** A commit since the probe has bound or unbound the name, and what lies there may be on its way elsewhere. */
  #isSuperseded(operation: ExternalOperation): boolean {
    const { busy } = this.#deps;
    if (!("name" in operation)) return false;
    const isMoved = operation.op === "externalRename" && busy.isPending(operation.toFolder, operation.toName);
    return isMoved || busy.isPending(operation.folder, operation.name);
  }

  /** The tree does not bind the name. When no commit to come does, the row is a leftover. */
  async #unremoved(row: DiskRow, hasPending: boolean): Promise<void> {
    if (!hasPending) return this.#dropRow(row);
    const path = await this.#deps.rows.pathOfName(row.folder, row.name);
    if (path !== undefined) this.#deps.superseded(path);
  }

  async #dropRow(row: DiskRow): Promise<void> {
    const { rows, meta, lost } = this.#deps;
    rows.remove(row);
    const version = { node: row.node, seq: row.version };
    if ((await rows.ofNode(row.node)).length > 0 || (await meta.version(version))?.place.at !== "disk") return;
    rows.setPlace(version, { at: "lost" });
    lost(version, (await rows.pathOfName(row.folder, row.name)) ?? "");
  }

  async #settle({ operation, observed }: ExternalChange, answer: Planned, hasPending: boolean): Promise<void> {
    if (observed === undefined) return;
    if (!answer.ok && answer.error.kind === "BadName")
      this.#deps.excluded.add(observed.folder, `${observed.path} (${answer.error.kind})`);
    else if (
      !answer.ok &&
      operation.op === "externalWrite" &&
      answer.error.kind === "Invalid" &&
      observed.row !== undefined
    ) {
      // A device that a program has made a file of.
      await this.removed([observed.row]);
      this.#deps.again(observed.path, 0);
    } else if (!answer.ok || answer.change === undefined) {
      if (!hasPending) await this.#reconcile(observed);
      this.#deps.superseded(observed.path);
    } else if (operation.op === "externalWrite" && observed.row !== undefined && observed.row.stat.sizeBytes > 0) {
      this.#deps.lost({ node: observed.row.node, seq: observed.row.version }, observed.path);
    }
  }

  /**
   * The tree did not take what was reported, and no commit is to come that could be the reason: row and tree disagree
   * about the name, after a power cut that the index did not survive whole. The row follows the tree; the next probe
   * then tells the difference.
   */
  async #reconcile({ folder, name, found }: Observation): Promise<void> {
    const { rows, meta } = this.#deps;
    const row = await rows.get(folder, name);
    const bound = await meta.lookup(folder, name);
    if (row !== undefined && row.node !== bound?.node) await this.#dropRow(row);
    else if (row !== undefined && bound?.type === "file" && row.version !== bound.version)
      rows.put({ ...row, version: bound.version });
    else if (row === undefined && bound !== undefined && found !== undefined) {
      const { node, type, sizeBytes, mtimeNs, version } = bound;
      const stat = { ...found.stat, type, sizeBytes, mtimeNs, ctimeNs: -1n };
      rows.put({ node, folder, name, handle: new Uint8Array(0), stat, version: type === "file" ? version : 0 });
    }
  }
}

function isNewFolder({ operation }: ExternalChange): boolean {
  return operation.op === "externalMake" && operation.attributes.type === "folder";
}
