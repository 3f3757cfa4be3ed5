// Salvage: the meta store is lost, the commit log is not. Commits that were acknowledged and are not in the plain
// folder yet are put there, by path, so that the scan that makes the new meta store finds them (docs/FORMAT.md [F65] to
// [F69]). Nothing is served meanwhile.
import type { DiskRoot, Executor, FileType, Log, NodeState, XattrChange } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { Ownership } from "../disk/attributes.ts";
import { makeStoreFolders, readMarker } from "../disk/marker.ts";
import { handleKey, isSameHandle } from "../disk/same-file.ts";
import { makeNode, typeOnDisk } from "../disk/shown.ts";
import { TEMP_FOLDER } from "../disk/store-layout.ts";
import { whatToShow } from "./already-applied.ts";
import { isIntentAt, leftByExchange } from "./places.ts";
import { SalvageContent } from "./salvage-content.ts";
import { readForSalvage } from "./salvage-log.ts";
import type { SalvageCommit, SalvageLog } from "./salvage-log.ts";
import type { SalvageReport } from "../../content-store.ts";
import { type FoundEntry, removeAny } from "../disk/found.ts";
import { SalvageTree, ignoreRefused, isOfThePlace, stateOf } from "./salvage-tree.ts";

export interface SalvageDeps {
  root: DiskRoot;
  log: Log;
  executor: Executor;
  /** The volume's id; undefined when that is lost too. */
  volume: string | undefined;
  ownership: Ownership;
  warn(message: string, error?: unknown): void;
}

/**
 * Resolves when the folder shows, durably, what could be salvaged; the log is as it was, but for notes. Killed anywhere
 * it can be begun again.
 * @throws Unavailable when the folder is not the volume's now, Corrupt for a damaged log, and what the disk throws:
 * nothing is lost by then.
 */
export async function salvage(deps: SalvageDeps): Promise<SalvageReport> {
  const found = await readForSalvage(deps.log);
  const tree = new SalvageTree(deps.root, deps.log, deps.ownership, found);
  if (found.commits.length === 0) return tree.report;
  const marker = await readMarker(deps.root);
  if (marker === undefined || (deps.volume !== undefined && marker.volume !== deps.volume)) {
    throw new RunnelError(
      "Unavailable",
      "open volume",
      `${deps.root.path} is not the volume's folder now: is its disk mounted? Changes wait to be put into it.`,
    );
  }
  await makeStoreFolders(deps.root);
  const content = new SalvageContent({ ...deps, tree });
  await content.start();
  await new Salvage(deps, tree, content, found).run();
  await tree.sync();
  return tree.report;
}

class Salvage {
  private readonly deps: SalvageDeps;
  private readonly tree: SalvageTree;
  private readonly content: SalvageContent;
  private readonly found: SalvageLog;
  /** Paths of nodes now. */
  private readonly places = new Map<number, string>();
  /** Attributes still to be set when all is in its place. */
  private readonly attributes = new Map<number, { state: NodeState; commit: SalvageCommit }>();
  private readonly xattrs = new Map<number, XattrChange[]>();

  constructor(deps: SalvageDeps, tree: SalvageTree, content: SalvageContent, found: SalvageLog) {
    this.deps = deps;
    this.tree = tree;
    this.content = content;
    this.found = found;
  }

  async run(): Promise<void> {
    const { commits, interrupted } = await whatToShow(this.tree, this.found);
    for (const commit of [...interrupted, ...commits]) {
      // Without a name it shows nowhere.
      if (commit.path === "" && commit.operation.op !== "setAttr") continue;
      try {
        await this.show(commit);
      } catch (error) {
        if (!isOfThePlace(error)) throw error;
        this.miss(commit, error);
      }
      // The order holds on the disk, too: that one is there tells of those before.
      await this.tree.sync();
    }
    for (const each of this.attributes.values()) await this.setAttributes(each);
  }

  private miss(commit: SalvageCommit, error?: unknown): void {
    this.tree.report.missing.push({ path: commit.path, seq: commit.seq });
    this.deps.warn(
      `Change ${commit.seq} (${commit.operation.op}) was acknowledged and could not be brought back: ${commit.path}`,
      error,
    );
  }

  private async show(commit: SalvageCommit): Promise<void> {
    const { operation, result } = commit;
    const state = stateOf(commit, result.node);
    if (operation.op === "make") await this.make(commit, operation.attributes.type);
    else if (operation.op === "write") {
      if (!(await this.write(commit))) return this.miss(commit);
    } else if (operation.op === "link") await this.link(commit);
    else if (operation.op === "rename") await this.rename(commit, operation.how);
    else if (operation.op === "remove") await this.remove(commit);
    if (commit.path !== "" && operation.op !== "remove") this.places.set(result.node, commit.path);
    if (operation.op === "setAttr" && operation.change.xattr !== undefined)
      this.xattrs.set(result.node, [...(this.xattrs.get(result.node) ?? []), operation.change.xattr]);
    if (state !== undefined && state.nlink > 0) this.attributes.set(result.node, { state, commit });
    this.tree.report.shown++;
  }

  private async make(commit: SalvageCommit, type: FileType): Promise<void> {
    const { tree } = this;
    const { path, wallNs, seq } = commit;
    const state = stateOf(commit, commit.result.node);
    const there = await tree.find(path);
    if (state === undefined || (there?.stat.type === "folder" && type === "folder")) return;
    if (there?.stat.type === "symlink" && type === "symlink" && (await tree.root.readSymlink(path)) === state.target)
      return;
    await tree.makeParents(path, wallNs);
    if (there !== undefined && tree.isOfGone(there))
      await tree.takeOut(path, there, tree.ownerOf(there) ?? commit.result.node, seq);
    else if (there !== undefined) await tree.keepConflictCopy(path, wallNs);
    const temp = `${TEMP_FOLDER}/salvage-${seq}`;
    await removeAny(tree.root, temp);
    await makeNode(tree.root, temp, state);
    await tree.setAttributes(temp, state);
    await tree.note(commit, await tree.root.handle(temp));
    await tree.root.rename(temp, path, "keep");
    tree.touch(path);
    tree.touchedByUs(path);
  }

  private async write(commit: SalvageCommit): Promise<boolean> {
    const { operation, result, path, names } = commit;
    const { tree } = this;
    if (operation.op !== "write") return false;
    // Stopped between two names of the file, it is at one of them.
    let at: string | undefined;
    for (const name of [path, ...names]) if (await isIntentAt(tree, name, commit)) at ??= name;
    /** Files whose bytes are kept already, by handle. */
    const kept = new Set<string>();
    if (at === undefined) {
      const old = await tree.find(path);
      const temp = await this.content.build(commit, operation.content, (node) => this.places.get(node));
      if (temp === undefined) return false;
      await tree.note(commit, await tree.root.handle(temp));
      await tree.place(temp, path, result.node, commit);
      if (old !== undefined) kept.add(handleKey(old.handle));
      at = path;
    }
    for (const name of [path, ...names]) if (name !== at) await this.putFurtherName(commit, at, name, kept);
    return true;
  }

  /** Adds to `kept` what it takes the name from. */
  private async putFurtherName(commit: SalvageCommit, at: string, name: string, kept: Set<string>): Promise<void> {
    const { root } = this.tree;
    const there = await this.tree.find(name);
    const handle = await root.handle(at);
    if (isSameHandle(there?.handle, handle)) return;
    const temp = `${TEMP_FOLDER}/salvage-${commit.seq}`;
    await removeAny(root, temp);
    await root.link(at, temp);
    // A rename over another name of the same file would leave both.
    if (there !== undefined && kept.has(handleKey(there.handle))) await root.removeFile(name);
    await this.tree.place(temp, name, commit.result.node, commit);
    if (there !== undefined) kept.add(handleKey(there.handle));
  }

  private async link(commit: SalvageCommit): Promise<void> {
    const { tree } = this;
    const { result, path, seq } = commit;
    const source = this.places.get(result.node) ?? commit.from;
    const found = await tree.find(source);
    const there = await tree.find(path);
    if (found === undefined) throw new RunnelError("NotFound", "salvage", "The file to be linked is not there.");
    if (isSameHandle(there?.handle, found.handle)) return;
    const temp = `${TEMP_FOLDER}/salvage-${seq}`;
    await removeAny(tree.root, temp);
    await tree.root.link(source, temp);
    await tree.place(temp, path, result.node, commit);
  }

  /** A file that is not where it was has been moved already, or taken away by another program. */
  private async rename(commit: SalvageCommit, how: "replace" | "keep" | "exchange"): Promise<void> {
    const { tree } = this;
    const { from, path, wallNs, result, change, seq } = commit;
    const source = await tree.find(from);
    const there = await tree.find(path);
    const left = leftByExchange(tree, commit, source, there);
    if (source !== undefined && left !== undefined) return tree.takeOut(from, source, left, seq);
    if (source === undefined || tree.isAnothers(source, result.node)) {
      // The file that it replaced goes all the same.
      const replaced = there && change.nodes.find(({ node, nlink }) => nlink === 0 && tree.isOf(there, node));
      if (there !== undefined && replaced !== undefined) await this.clear(path, there, replaced.node, commit);
      return;
    }
    await tree.makeParents(path, wallNs);
    // A later content of its own has the name already.
    if (there !== undefined && how !== "exchange" && tree.isOf(there, result.node) && source.stat.type === "file")
      return tree.takeOut(from, source, result.node, seq);
    if (how === "exchange" && there !== undefined) {
      await tree.root.rename(from, path, "exchange");
      const other = change.bindings.find(({ node }) => node !== result.node);
      if (other !== undefined) this.places.set(other.node, from);
    } else {
      if (there !== undefined) await this.clear(path, there, change.replaces?.node, commit);
      await tree.root.rename(from, path, "keep");
    }
    if (source.stat.type === "folder") this.moved(from, path);
    for (const each of [from, path]) {
      tree.touch(each);
      tree.touchedByUs(each);
    }
    this.places.set(result.node, path);
  }

  /** Makes way for a rename. */
  private async clear(path: string, there: FoundEntry, node: number | undefined, commit: SalvageCommit): Promise<void> {
    const { tree } = this;
    if (there.stat.type === "folder") {
      if (await removeEmpty(tree.root, path)) return;
    } else if (node !== undefined && !tree.isAnothers(there, node) && !tree.isNewer(path, there, commit.wallNs)) {
      return tree.takeOut(path, there, node, commit.seq);
    }
    await tree.keepConflictCopy(path, commit.wallNs);
  }

  /** Names below a folder that moved. */
  private moved(from: string, to: string): void {
    for (const [node, path] of this.places)
      if (path.startsWith(`${from}/`)) this.places.set(node, to + path.slice(from.length));
  }

  /** Only what is older than the commit: a newer file is another program's, or a later commit's. */
  private async remove(commit: SalvageCommit): Promise<void> {
    const { tree } = this;
    const { path, wallNs, result, seq } = commit;
    const found = await tree.find(path);
    this.places.delete(result.node);
    this.attributes.delete(result.node);
    if (found === undefined || tree.isNewer(path, found, wallNs)) return;
    if (tree.isAnothers(found, result.node) && !tree.isOfGone(found)) return;
    if (found.stat.type === "folder") await removeEmpty(tree.root, path);
    else await tree.takeOut(path, found, tree.ownerOf(found) ?? result.node, seq);
    tree.touch(path);
  }

  private async setAttributes({ state, commit }: { state: NodeState; commit: SalvageCommit }): Promise<void> {
    const { tree } = this;
    const path = this.places.get(state.node);
    if (path === undefined || this.found.foreignAttributes.has(state.node)) return;
    const found = await tree.find(path);
    if (
      found === undefined ||
      found.stat.type !== typeOnDisk(state.type) ||
      tree.isAnothers(found, state.node) ||
      tree.isNewer(path, found, commit.wallNs)
    )
      return;
    await tree.setAttributes(path, state);
    for (const change of this.xattrs.get(state.node) ?? []) await ignoreRefused(tree.root.setXattr(path, change));
  }
}

/** False when there is something in it. */
async function removeEmpty(root: DiskRoot, path: string): Promise<boolean> {
  try {
    await root.removeFolder(path);
    return true;
  } catch (error) {
    if (!isRunnelError(error, "NotEmpty", "Exists", "NotFound")) throw error;
    return false;
  }
}
