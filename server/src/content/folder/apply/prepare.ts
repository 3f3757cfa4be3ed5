// Preparing a commit: everything that takes time and shows nowhere yet. A new file is filled and synced in temp/, a new
// name's object is made there; its handle is then logged, so that after a crash it can be told whether it has been put
// in place [F28].
import type { DiskFile, DiskRoot, SetStat } from "@runnel/shared";
import { RunnelError, isRunnelError } from "@runnel/shared";
import type { AcceptedCommit, ByteRange } from "../../content-store.ts";
import type { FillDeps } from "../staging/fill.ts";
import { askCommitter, fill } from "../staging/fill.ts";
import type { LiveTree } from "./live-tree.ts";
import type { PendingContent } from "../versions/pending-contents.ts";
import { prepareLink, prepareMake, stateAfter } from "./apply-make.ts";
import type { Prepared } from "./prepared.ts";
import { isSameHandle } from "../disk/same-file.ts";
import { HOLE_BYTES } from "../disk/write-sparsely.ts";
import { attributeChanges, ignoreDenied } from "../disk/attributes.ts";
import { STORE_FILE_MODE, stagedPath, tempPath } from "../disk/store-layout.ts";

export interface PrepareDeps extends FillDeps {
  tree: LiveTree;
  /** Handles logged for commits that were begun before. */
  intents: ReadonlyMap<number, Uint8Array>;
  /** The handle logged for a content of a node, and the path that its file had before. */
  intentOfContent(node: number): { handle: Uint8Array; path: string } | undefined;
}

export function pathOfTemp(seq: number, content: PendingContent): string {
  return content.temp === "" ? tempPath(seq, "new") : stagedPath(content.temp);
}

/** Contents without holes (write-sparsely.ts) that are in the log as a whole are written at once. */
const SMALL_BYTES = HOLE_BYTES - 1;

/** Missing range of a content whose staged file is gone. */
const ALL: ByteRange = { offset: 0, length: Infinity };

export interface PrepareHow {
  /** A make: the same batch has the node's first content. */
  isReplaced?: boolean;
  /** A write: it is the first content of a node that the same batch makes. */
  isFirst?: boolean;
  /** Asks whoever committed it for what is missing now. */
  isLastTry?: boolean;
}

export async function prepare(
  deps: PrepareDeps,
  commit: AcceptedCommit,
  content: PendingContent | undefined,
  { isReplaced = false, isFirst = false, isLastTry = true }: PrepareHow = {},
): Promise<Prepared> {
  if (content !== undefined) return prepareWrite(deps, commit, content, isFirst, isLastTry);
  const { operation } = commit;
  if (operation.op !== "make" && operation.op !== "link") return { kind: "nothing" };
  const intent = deps.intents.get(commit.seq);
  if (intent !== undefined) {
    const left = await deps.tree.find(tempPath(commit.seq, "new"));
    return { kind: "made", handle: intent, isPlaced: !isSameHandle(left?.handle, intent) };
  }
  // A file that was to be made with its first content has no handle logged but that one's.
  const first = operation.op === "make" ? deps.intentOfContent(commit.result.node) : undefined;
  if (first !== undefined && !isSameHandle((await deps.tree.find(first.path))?.handle, first.handle))
    return { kind: "made", handle: first.handle, isPlaced: true };
  const handle = await (operation.op === "make"
    ? prepareMake(deps.tree, commit, isReplaced)
    : prepareLink(deps.tree, commit, operation));
  return handle === undefined ? { kind: "nothing" } : { kind: "made", handle, isPlaced: false };
}

async function prepareWrite(
  deps: PrepareDeps,
  commit: AcceptedCommit,
  content: PendingContent,
  isFirst: boolean,
  isLastTry: boolean,
): Promise<Prepared> {
  const path = pathOfTemp(commit.seq, content);
  const mtimeNs = stateAfter(commit, content.version.node)?.mtimeNs ?? 0n;
  const intent = deps.intents.get(commit.seq);
  if (intent !== undefined) {
    const left = await deps.tree.find(path);
    if (isSameHandle(left?.handle, intent))
      return filled(deps, content, path, mtimeNs, await deps.tree.root.open(path, "write"));
    if (!(await isTempGone(deps, content, intent, left?.handle))) {
      return { kind: "filled", content, temp: { path, handle: intent, open: undefined, mtimeNs } };
    }
  }
  let file: DiskFile | undefined;
  try {
    const changes = await changesOf(deps.tree, commit, content, isFirst);
    const bytes = changes.length > 1 ? undefined : await smallBytes(deps, content);
    if (bytes !== undefined) {
      const how = { mode: "createNew", permissions: STORE_FILE_MODE, isSynced: true } as const;
      const make = (): ReturnType<DiskRoot["makeFile"]> =>
        deps.tree.root.makeFile(path, bytes, { ...how, ...(changes[0] === undefined ? {} : { stat: changes[0] }) });
      const { file: made, stat, handle } = await inPlaceOfLeft(deps.tree.root, path, make);
      return { kind: "filled", content, temp: { path, handle, open: { file: made, stat }, mtimeNs } };
    }
    file = await openTemp(deps, content, path);
    const { missing: lacked, mayComeBack } = await fill(deps, file, content);
    const isAsked = lacked.length > 0 && (isLastTry || !mayComeBack);
    const missing = isAsked ? await askCommitter(deps, file, content, lacked) : lacked;
    for (const change of changes) await ignoreDenied(deps.tree.root.setStat(path, change));
    await file.sync();
    if (missing.length === 0) return await filled(deps, content, path, mtimeNs, file);
    await file.close();
    return { kind: "lost", content, path, missing, mayComeBack };
  } catch (error) {
    await file?.close();
    if (isRunnelError(error, "Lost")) return { kind: "lost", content, path, missing: [ALL], mayComeBack: false };
    throw error;
  }
}

/**
 * The handle was logged, and what has it is neither in temp/ nor in the tree, since the old file still is: someone
 * cleared temp/.
 */
async function isTempGone(
  { tree }: PrepareDeps,
  { version }: PendingContent,
  intent: Uint8Array,
  left: Uint8Array | undefined,
): Promise<boolean> {
  const row = (await tree.rows.ofNode(version.node))[0];
  const path = row && (await tree.rows.pathOfName(row.folder, row.name));
  if (row === undefined || path === undefined || left !== undefined) return false;
  const handle = (await tree.find(path))?.handle;
  // A later commit's file lies there: the rows, rolled forward with the log, may know it already.
  if (handle === undefined || isSameHandle(handle, intent) || tree.deps.tempOf(handle) !== undefined) return false;
  return isSameHandle(handle, row.handle);
}

async function openTemp({ tree }: PrepareDeps, content: PendingContent, path: string): Promise<DiskFile> {
  if (content.temp === "")
    return inPlaceOfLeft(tree.root, path, () => tree.root.open(path, "createNew", STORE_FILE_MODE));
  try {
    return await tree.root.open(path, "write");
  } catch (error) {
    if (!isRunnelError(error, "NotFound")) throw error;
    throw new RunnelError("Lost", "apply", "A staged file is gone.", { cause: error });
  }
}

/** Makes a new file; what an interruption left at its path is removed. */
async function inPlaceOfLeft<T>(root: DiskRoot, path: string, make: () => Promise<T>): Promise<T> {
  try {
    return await make();
  } catch (error) {
    if (!isRunnelError(error, "Exists")) throw error;
  }
  await root.removeFile(path);
  return make();
}

/** Reads a small content that is all in the log. @returns undefined for another one. */
async function smallBytes(
  { callbacks }: PrepareDeps,
  { temp, runs, sizeBytes, data }: PendingContent,
): Promise<Uint8Array | undefined> {
  const [run, ...others] = runs;
  if (temp !== "" || run?.from !== "log" || others.length > 0 || data === undefined) return undefined;
  if (run.length !== sizeBytes || sizeBytes > SMALL_BYTES) return undefined;
  return callbacks.readLog(data, run.at, run.length);
}

/** The attributes that the content's file gets. */
async function changesOf(
  { rows, deps }: LiveTree,
  commit: AcceptedCommit,
  { version: { node } }: PendingContent,
  isFirst: boolean,
): Promise<SetStat[]> {
  const state = stateAfter(commit, node);
  if (state === undefined) return [];
  // A program of the server's that finds its file replaced finds its own.
  const old = isFirst ? undefined : (await rows.ofNode(node))[0]?.stat;
  const owner = old && { uid: old.uid, gid: old.gid };
  return attributeChanges(state.type, state, { mode: 0, owner }, deps.ownership);
}

async function filled(
  deps: PrepareDeps,
  content: PendingContent,
  path: string,
  mtimeNs: bigint,
  file: DiskFile,
): Promise<Prepared> {
  const { stat, handle } = await file.identify();
  return { kind: "filled", content, temp: { path, handle, open: { file, stat }, mtimeNs } };
}
