// The served folder while commits are salvaged into it: what lies where, whose it is, and moving it without losing
// anything of another program.
import type { DiskRoot, Log, NodeState } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Ownership } from "../disk/attributes.ts";
import { attributeChanges, ignoreDenied } from "../disk/attributes.ts";
import { type FoundEntry, findAt, moveToConflictCopy } from "../disk/found.ts";
import { handleKey } from "../disk/same-file.ts";
import { keepShown } from "../disk/shown.ts";
import { ShownRecords } from "../disk/shown-records.ts";
import { TEMP_FOLDER, TRASH_FOLDER, joinPath, splitPath, trashName } from "../disk/store-layout.ts";
import { writeTrashRecord } from "../versions/trash.ts";
import type { SalvageReport } from "../../content-store.ts";
import { encodeRecord } from "../../../commit-log/record.ts";
import type { IntentFile, SalvageCommit, SalvageLog } from "./salvage-log.ts";

const FOLDER_MODE = 0o755;
/** The log does not say which epoch its ids are of. */
const UNKNOWN_EPOCH = "0".repeat(32);

export class SalvageTree {
  readonly root: DiskRoot;
  readonly shown: ShownRecords;
  readonly report: SalvageReport = { shown: 0, conflictCopies: [], missing: [] };
  private readonly log: Log;
  private readonly ownership: Ownership;
  private readonly intents: Map<string, IntentFile>;
  private readonly owners: Map<string, number>;
  /** Nodes that have no name after the commits of the log. */
  private readonly gone: ReadonlySet<number>;
  /** Folders whose names changed. */
  private readonly touched = new Set<string>();
  /** Paths whose ctime the server itself may have made newer. */
  private readonly ownTouches: Set<string>;
  /** Old files taken out, by node. */
  private readonly asides = new Map<number, string[]>();

  constructor(root: DiskRoot, log: Log, ownership: Ownership, found: SalvageLog) {
    this.root = root;
    this.shown = new ShownRecords(root);
    this.ownership = ownership;
    this.log = log;
    this.intents = found.intents;
    this.owners = found.owners;
    this.gone = new Set(
      found.commits.flatMap(({ change }) => change.nodes.flatMap(({ node, nlink }) => (nlink === 0 ? [node] : []))),
    );
    this.ownTouches = new Set(found.ownPaths);
  }

  find(path: string): Promise<FoundEntry | undefined> {
    return findAt(this.root, path);
  }

  /** The commit that the file was put in place for, as far as the log tells. */
  intentOf(found: FoundEntry): IntentFile | undefined {
    return this.intents.get(handleKey(found.handle));
  }

  /** Durable before the file gets its place: whoever salvages again knows it by that. */
  async note(commit: SalvageCommit, handle: Uint8Array): Promise<void> {
    const state = stateOf(commit, commit.result.node);
    const { seq, result } = commit;
    await this.log.append([encodeRecord({ kind: "handle", seq, handle }).bytes]);
    this.owners.set(handleKey(handle), result.node);
    this.intents.set(handleKey(handle), {
      seq,
      node: result.node,
      sizeBytes: state?.sizeBytes ?? 0,
      mtimeNs: state?.mtimeNs ?? 0n,
    });
  }

  /** The server touched it by a commit before: its ctime says nothing. */
  touchedByUs(path: string): void {
    this.ownTouches.add(path);
  }

  /** Tells whether what lies there is another node's, as far as the log knows. */
  isAnothers(found: FoundEntry, node: number): boolean {
    const owner = this.ownerOf(found);
    return owner !== undefined && owner !== node;
  }

  /** Tells whether the file is one that a commit of the log removed, or put another in the place of. */
  isOfGone(found: FoundEntry): boolean {
    const owner = this.ownerOf(found);
    return owner !== undefined && this.gone.has(owner);
  }

  /** The node whose file it is, as far as the log tells. */
  ownerOf(found: FoundEntry): number | undefined {
    return this.owners.get(handleKey(found.handle));
  }

  isOf(found: FoundEntry, node: number): boolean {
    return this.ownerOf(found) === node;
  }

  /**
   * Another program wrote it after the commit [F66]. Of folders nothing can be said: their times follow what is in
   * them.
   */
  isNewer(path: string, found: FoundEntry, wallNs: bigint): boolean {
    const { stat } = found;
    if (stat.type === "folder") return false;
    const intent = this.intentOf(found);
    // A file that was just made is empty; its times may not have got onto the disk.
    const isAsLeft = intent?.sizeBytes === stat.sizeBytes && (intent.mtimeNs === stat.mtimeNs || stat.sizeBytes === 0);
    if (isAsLeft) return false;
    const hasOwnCtime = intent !== undefined || this.ownTouches.has(path);
    return stat.mtimeNs > wallNs || (!hasOwnCtime && stat.ctimeNs > wallNs);
  }

  /** The folder above is there; what another program has put in its way is kept as a conflict copy. */
  async makeParents(path: string, wallNs: bigint): Promise<void> {
    const { folder } = splitPath(path);
    if (folder === "") return;
    const found = await this.find(folder);
    if (found?.stat.type === "folder") return;
    await this.makeParents(folder, wallNs);
    if (found !== undefined) await this.keepConflictCopy(folder, wallNs);
    await this.root.makeFolder(folder, FOLDER_MODE);
    this.touch(folder);
  }

  async keepConflictCopy(path: string, wallNs: bigint): Promise<void> {
    const { folder, name } = splitPath(path);
    const conflictCopy = await moveToConflictCopy(this.root, path, folder, name, wallNs);
    this.touch(path);
    this.report.conflictCopies.push({ path, conflictCopy });
  }

  /**
   * Takes an old file out of the tree, to the trash: commits to come may copy from it, and nothing is destroyed on a
   * log's word alone.
   */
  async takeOut(path: string, found: FoundEntry, node: number, seq: number): Promise<void> {
    const version = { node, seq };
    const name = trashName(UNKNOWN_EPOCH, version);
    const aside = joinPath(TRASH_FOLDER, name);
    await writeTrashRecord(this.root, name, UNKNOWN_EPOCH, version, path, found);
    await this.root.rename(path, aside, "replace");
    this.touch(path);
    this.asides.set(node, [...(this.asides.get(node) ?? []), aside]);
  }

  asidesOf(node: number): readonly string[] {
    return this.asides.get(node) ?? [];
  }

  /**
   * Gives what lies in temp/ a place; what another program put there is kept as a conflict copy, an older file is taken
   * out.
   */
  async place(temp: string, path: string, node: number, commit: SalvageCommit): Promise<void> {
    const { seq, wallNs } = commit;
    await this.makeParents(path, wallNs);
    const there = await this.find(path);
    if (there !== undefined) {
      const isOld = there.stat.type === "file" && !this.isAnothers(there, node) && !this.isNewer(path, there, wallNs);
      if (isOld) {
        await this.root.copyXattrs(path, temp);
        const { uid, gid } = there.stat;
        if (!this.ownership.keepsOwners) await ignoreDenied(this.root.setStat(temp, { uid, gid }));
        await this.takeOut(path, there, node, seq);
      } else await this.keepConflictCopy(path, wallNs);
    }
    await this.root.rename(temp, path, "keep");
    this.touch(path);
    this.ownTouches.add(path);
  }

  /** The names in the folder of this path changed. */
  touch(path: string): void {
    this.touched.add(splitPath(path).folder);
  }

  async setAttributes(path: string, state: NodeState): Promise<void> {
    const found = await this.find(path);
    if (found === undefined) throw new RunnelError("NotFound", "salvage", "What was to get attributes is gone.");
    const { handle } = found;
    const { mode } = found.stat;
    const kept = { mode: state.type === "folder" ? mode : 0, owner: undefined };
    for (const change of attributeChanges(state.type, state, kept, this.ownership))
      await ignoreDenied(this.root.setStat(path, change, handle));
    await keepShown(this, path, state, false);
  }

  /** All names changed so far are on stable storage. */
  async sync(): Promise<void> {
    for (const folder of [...this.touched, TEMP_FOLDER, TRASH_FOLDER]) {
      try {
        await this.root.syncFolder(folder);
      } catch (error) {
        // Moved or removed by a later commit, with what is in it.
        if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
      }
    }
    this.touched.clear();
    await this.shown.sync();
  }
}

export function stateOf(commit: SalvageCommit, node: number): NodeState | undefined {
  return commit.change.nodes.find((state) => state.node === node);
}

/** Trouble with one place in the tree, rather than with the disk. */
export function isOfThePlace(error: unknown): error is RunnelError {
  return isRunnelError(
    error,
    "NotFound",
    "Exists",
    "NotEmpty",
    "NotFolder",
    "IsFolder",
    "BadName",
    "NameTooLong",
    "Denied",
    "Unsupported",
    "Invalid",
    "Unavailable",
  );
}

/** Ignores that the file system does not hold an extended attribute. */
export async function ignoreRefused(change: Promise<void>): Promise<void> {
  try {
    await ignoreDenied(change);
  } catch (error) {
    if (!isRunnelError(error, "NoSpace", "TooLarge", "Quota")) throw error;
  }
}
