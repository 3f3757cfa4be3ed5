// Applying what makes names: make and link [F28]. What is made is made in temp/, so a name appears whole or not at all.
import type { DiskRoot, NodeState } from "@runnel/shared";
import { isRunnelError, withFile } from "@runnel/shared";
import type { AcceptedCommit } from "../../content-store.ts";
import type { DiskRow, Operation } from "../../../meta/meta-store.ts";
import type { LiveTree } from "./live-tree.ts";
import type { Filled, Prepared } from "./prepared.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameContent, isSameHandle } from "../disk/same-file.ts";
import { keepShown, makeNode, typeOnDisk } from "../disk/shown.ts";
import { tempPath } from "../disk/store-layout.ts";
import { removeAny, removeIfThere } from "../disk/found.ts";

type Op<Name extends Operation["op"]> = Extract<Operation, { op: Name }>;

export function stateAfter(commit: AcceptedCommit, node: number): NodeState | undefined {
  return commit.change.nodes.find((state) => state.node === node);
}

/** Tells whether what lies there differs in nothing but attributes from what the commit makes. */
async function isSameThing(tree: LiveTree, path: string, { stat }: FoundEntry, state: NodeState): Promise<boolean> {
  const type = typeOnDisk(state.type);
  if (stat.type !== type) return false;
  switch (type) {
    case "folder":
      return true;
    case "file":
      return stat.sizeBytes === 0;
    case "symlink":
      return (await tree.root.readSymlink(path)) === state.target;
    default:
      return stat.rdev === state.rdev;
  }
}

/**
 * Makes the object in temp/, durably unless the same batch replaces it by the node's first content; resolves to its
 * handle.
 */
export async function prepareMake(
  tree: LiveTree,
  commit: AcceptedCommit,
  isReplaced: boolean,
): Promise<Uint8Array | undefined> {
  const state = stateAfter(commit, commit.result.node);
  if (state === undefined) return undefined;
  const temp = tempPath(commit.seq, "new");
  await removeAny(tree.root, temp);
  await makeNode(tree.root, temp, state);
  await tree.setAttributes(temp, state, state);
  await keepShown(tree, temp, state, true);
  if (!isReplaced) await syncTemp(tree.root, temp, state);
  return tree.root.handle(temp);
}

/** Attributes too. What is neither file nor folder cannot be synced by itself; its folder's sync has to do. */
async function syncTemp(root: DiskRoot, temp: string, state: NodeState): Promise<void> {
  const type = typeOnDisk(state.type);
  if (type === "folder") await root.syncFolder(temp);
  if (type === "file") await withFile(root, temp, "write", (file) => file.sync());
}

export async function applyMake(
  tree: LiveTree,
  commit: AcceptedCommit,
  operation: Op<"make">,
  { handle, isPlaced, filled }: Prepared & { kind: "made" },
): Promise<void> {
  const { folder, name } = operation;
  const { node } = commit.result;
  const state = stateAfter(commit, node);
  if (state === undefined) return;
  // Stored before the interruption, or put by what another program did with it since.
  if (tree.isRetry && (await tree.rows.ofNode(node)).length > 0) return;
  if (filled !== undefined) await beginPlacing(tree, filled);
  const made = { handle, temp: filled?.temp.path ?? tempPath(commit.seq, "new"), isFilled: filled !== undefined };
  const placed = isPlaced ? handle : await placeMade(tree, made, operation, state);
  const open = placed === handle ? filled?.temp.open : undefined;
  if (open !== undefined) await tree.bind({ node, folder, name, version: 0, handle, stat: open.stat });
  else await recordNew(tree, { node, folder, name, version: 0, handle: placed }, state);
  tree.touch(folder, stateAfter(commit, folder));
}

/** The first content is what programs find, and its own commit finds it in place. */
async function beginPlacing(tree: LiveTree, { commit, content, temp }: Filled): Promise<void> {
  content.isBeingApplied = true;
  await tree.deps.holdPlaced(content.version, temp);
  const state = stateAfter(commit, content.version.node);
  if (state !== undefined) await keepShown(tree, temp.path, state, true, temp.open?.stat);
}

/** Resolves to the handle of what has the name now. */
async function placeMade(
  tree: LiveTree,
  { handle, temp, isFilled }: { handle: Uint8Array; temp: string; isFilled: boolean },
  { folder, name }: Op<"make">,
  state: NodeState,
): Promise<Uint8Array> {
  const path = await tree.pathIn(folder, name);
  const placed = await tree.placeNew(temp, folder, name, (found) => isSameThing(tree, path, found, state));
  if (placed === "placed") return handle;
  // A first content takes the place of what is there in its own turn.
  if (!isFilled) await removeAny(tree.root, temp);
  await takeOver(tree, path, state, placed);
  if (state.type === "folder") tree.list(state.node);
  return placed.handle;
}

/** Gives what is adopted its attributes. Another file that is there by then gets none: the next probe finds it. */
async function takeOver(tree: LiveTree, path: string, state: NodeState, { stat, handle }: FoundEntry): Promise<void> {
  const { mode, uid, gid } = stat;
  try {
    await tree.setAttributes(path, state, state, { mode, owner: { uid, gid } }, handle);
    await keepShown(tree, path, state, false);
  } catch (error) {
    if (!isRunnelError(error, "NotFound", "NotFolder")) throw error;
  }
}

/** The row of a name just put in place. What another program has done to it since is for the next probe to find. */
async function recordNew(tree: LiveTree, key: Omit<DiskRow, "stat">, state: NodeState): Promise<void> {
  const path = (await tree.rows.pathOfName(key.folder, key.name)) ?? key.name;
  const found = await tree.find(path);
  const isOurs = found !== undefined && isSameHandle(found.handle, key.handle);
  const isAsMade = isOurs && (found.stat.type !== "file" || found.stat.sizeBytes === 0);
  const like = found?.stat ?? (await tree.root.stat(""));
  const stat = isAsMade
    ? found.stat
    : { ...like, type: typeOnDisk(state.type), sizeBytes: 0, mtimeNs: state.mtimeNs, ctimeNs: -1n };
  await tree.bind({ ...key, stat });
  if (!isAsMade) tree.probeLater(path);
}

/**
 * A further name for a file, in temp/. Resolves to the file's handle; undefined when another program has taken all its
 * names. The commits before are applied: the file is the one that the new name is for.
 */
export async function prepareLink(
  tree: LiveTree,
  commit: AcceptedCommit,
  operation: Op<"link">,
): Promise<Uint8Array | undefined> {
  const source = await sourceOfLink(tree, await tree.rows.ofNode(operation.node));
  if (source === undefined) return undefined;
  const temp = tempPath(commit.seq, "new");
  await removeIfThere(tree.root, temp);
  await tree.root.link(source.path, temp);
  return source.found.handle;
}

/** `made`: the link in temp/, undefined when no file was found that it could be of. */
export async function applyLink(
  tree: LiveTree,
  commit: AcceptedCommit,
  operation: Op<"link">,
  made: { handle: Uint8Array; isPlaced: boolean } | undefined,
): Promise<void> {
  const { node, folder, name } = operation;
  const rows = await tree.rows.ofNode(node);
  const first = rows[0];
  tree.touch(folder, stateAfter(commit, folder));
  if (first === undefined || made === undefined) return tree.bindUnknown(node, folder, name);
  if (rows.some((row) => row.folder === folder && row.name === name)) return;
  const before = await sourceOfLink(tree, rows);
  if (!made.isPlaced) await placeLink(tree, tempPath(commit.seq, "new"), operation, made.handle);
  const after = before && (await tree.find(before.path));
  const recorded = tree.recorded(first, before?.found && withoutLink(before.found, first), after);
  for (const row of [...rows, { ...first, folder, name }]) await tree.bind({ ...row, ...recorded });
  // The next probe finds what another program took away meanwhile.
  if (recorded.stat === first.stat) await probeRows(tree, [...rows, { folder, name }]);
}

/** The tuple before: the link in temp/ has changed the ctime already. */
function withoutLink(found: FoundEntry, row: DiskRow): FoundEntry {
  return isSameContent(found.stat, row.stat) ? { ...found, stat: row.stat } : found;
}

async function placeLink(
  tree: LiveTree,
  temp: string,
  { folder, name }: Op<"link">,
  handle: Uint8Array,
): Promise<void> {
  const placed = await tree.placeNew(temp, folder, name, async (found) => isSameHandle(found.handle, handle));
  if (placed !== "placed") await removeIfThere(tree.root, temp);
}

async function sourceOfLink(
  tree: LiveTree,
  rows: readonly DiskRow[],
): Promise<{ path: string; found: FoundEntry } | undefined> {
  for (const row of rows) {
    const path = await tree.rows.pathOfName(row.folder, row.name);
    const found = path === undefined ? undefined : await tree.find(path);
    if (path !== undefined && isSameHandle(found?.handle, row.handle)) return { path, found: found as FoundEntry };
  }
  return undefined;
}

export async function probeRows(tree: LiveTree, rows: readonly Pick<DiskRow, "folder" | "name">[]): Promise<void> {
  for (const { folder, name } of rows) {
    const path = await tree.rows.pathOfName(folder, name);
    if (path !== undefined) tree.probeLater(path);
  }
}
