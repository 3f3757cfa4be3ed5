// Contents that cannot become what they were to be, since that was changed elsewhere, or is gone, or belongs to another
// epoch: each becomes a file of its own, under its path where that is free, else under another name in its folder.
// Name, node and numbers are chosen once and recorded, so that each attempt is the same one [F101].
import { posix } from "node:path";
import type { Clock } from "@runnel/shared";
import { LIMITS, ROOT_NODE, isRunnelError, packType } from "@runnel/shared";
import type { OwnChanges } from "../../changes/own-changes.ts";
import type { ConflictCopy, Journal, JournalCommit } from "../../journal/journal.ts";
import type { Operations } from "../../wire/operations.ts";
import { versionOf } from "./bases.ts";
import type { Tree } from "../tree.ts";

export interface ConflictCopiesDeps {
  tree: Tree;
  changes: OwnChanges;
  operations: Operations;
  journal: Journal;
  clock: Clock;
  epoch(): string;
  /** The server keeps what is a conflict, for people. */
  saysConflicts(): boolean;
}

/** Attributes of a file of which nothing is known. */
const PLAIN_ATTRIBUTES = { mode: 0o644, uid: 0, gid: 0 };

export class ConflictCopies {
  readonly #deps: ConflictCopiesDeps;

  constructor(deps: ConflictCopiesDeps) {
    this.#deps = deps;
  }

  /**
   * Plans the copy and records it in place of the content. `take` gets the new record while its numbers still count as
   * outstanding.
   */
  async plan(record: JournalCommit, take: (planned: JournalCommit) => void): Promise<void> {
    const { changes, operations, journal, epoch } = this.#deps;
    const of = record.copy?.of ?? record.path;
    // A name that was planned and could not be made is not tried again, whatever is known of it here.
    const { folder, name, path } = await this.#freePlace(of, record.copy?.name);
    const node = await operations.newNode();
    const [make, change] = [changes.begin(), changes.begin()];
    try {
      const attributes = { ...(record.attributes ?? PLAIN_ATTRIBUTES), mtimeNs: record.mtimeNs };
      const copy = { of, n: make.n, folder, name, made: attributes, base: versionOf(record) };
      const planned = {
        ...record,
        n: change.n,
        instance: journal.instance,
        epoch: epoch(),
        node,
        baseVersion: 0,
        path,
        copy,
      };
      // These numbers are the copy's for good: a power cut must not take them back.
      await journal.put(planned, true, [record]);
      take(planned);
    } finally {
      for (const each of [make, change]) changes.step(each, "settle");
    }
  }

  /**
   * Makes the file, or finds that it was made by an earlier attempt. @returns false when its name has been taken, or
   * its folder has gone, meanwhile.
   */
  async make({ copy, node, path }: JournalCommit): Promise<boolean> {
    if (copy === undefined) return true;
    const { name, n, made, of } = copy;
    const folder = this.#folderNow(copy);
    const all = { type: packType("file"), ...made, rdev: 0, target: "" };
    // Under its own name it is beside nothing.
    const said = path === of || !this.#deps.saysConflicts() ? {} : { copyOf: of.slice(0, LIMITS.copyOf) };
    try {
      await this.#deps.operations.send(n, "make", { folder, name, node, attributes: all, ...said });
      return true;
    } catch (error) {
      if (isRunnelError(error, "Exists")) return false;
      // The server has to say so of the folder: what it cannot find otherwise proves nothing.
      if (isRunnelError(error, "NotFound") && !((await this.#deps.tree.asked(folder))?.nlink ?? 0)) return false;
      throw error;
    }
  }

  /** An attempt has made the file, and it is empty still. */
  async isMade({ copy, node }: JournalCommit): Promise<boolean> {
    if (copy === undefined) return false;
    const state = await this.#deps.tree.lookup(this.#folderNow(copy), copy.name);
    return state?.node === node && state.version === 0;
  }

  /** Takes away the empty file that an attempt has made, of a copy that is given up. */
  async unmake(record: JournalCommit): Promise<void> {
    const { copy, node } = record;
    if (copy === undefined || !(await this.isMade(record))) return;
    const folder = this.#folderNow(copy);
    await this.#deps.operations.change("remove", { folder, name: copy.name, node, isFolder: false });
  }

  /** It may have been planned in a folder that the server has under its own id by now. */
  #folderNow({ folder }: ConflictCopy): number {
    return this.#deps.tree.real(folder);
  }

  async #freePlace(path: string, taken?: string): Promise<{ folder: number; name: string; path: string }> {
    const { tree, clock } = this.#deps;
    const names = path.split("/");
    const name = names.pop() || "file";
    const [folder, parent] = await this.#folderOf(names);
    const { name: stem, ext } = posix.parse(name);
    const when = new Date(Number(clock.wallNs() / 1_000_000n))
      .toISOString()
      .slice(0, 19)
      .replace("T", " ")
      .replaceAll(":", ".");
    let free = name;
    for (let count = 1; free === taken || (await tree.lookup(folder, free)) !== undefined; count++)
      free = `${stem} (unsent ${when}${count > 1 ? ` ${count}` : ""})${ext}`;
    return { folder, name: free, path: `${parent}${free}` };
  }

  /** The folder of these names, and its path with a slash; the root where that is not there. */
  async #folderOf(names: readonly string[]): Promise<[folder: number, path: string]> {
    let folder = ROOT_NODE;
    for (const name of names) {
      const state = await this.#deps.tree.lookup(folder, name);
      if (state?.type !== "folder") return [ROOT_NODE, ""];
      folder = state.node;
    }
    return [folder, names.map((name) => `${name}/`).join("")];
  }
}
