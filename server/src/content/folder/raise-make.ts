// Bringing up what makes names: make and link [F28]. What is made is made in temp/, so a name appears whole or not at all.
import type { DiskRoot, NodeState } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { AcceptedCommit } from "../content-store.ts";
import type { DiskRow, Operation } from "../../meta/meta-store.ts";
import type { Found, LiveTree } from "./live-tree.ts";
import { isSameHandle } from "./same-file.ts";
import { STORE_FILE_MODE, STORE_FOLDER_MODE, tempPath } from "./store-layout.ts";
import { removeIfThere } from "./trash.ts";

type Op<Name extends Operation["op"]> = Extract<Operation, { op: Name }>;

export function stateAfter(commit: AcceptedCommit, node: number): NodeState | undefined {
  return commit.change.nodes.find((state) => state.node === node);
}

async function makeTemp(root: DiskRoot, temp: string, { type, mode, rdev, target }: NodeState): Promise<void> {
  switch (type) {
    case "file":
      return (await root.open(temp, "createNew", STORE_FILE_MODE)).close();
    case "folder":
      return root.makeFolder(temp, STORE_FOLDER_MODE);
    case "symlink":
      return root.makeSymlink(temp, target);
    default:
      return root.makeSpecial(temp, type, mode, rdev);
  }
}

async function clearTemp(root: DiskRoot, temp: string): Promise<void> {
  try {
    await root.removeFile(temp);
  } catch (error) {
    if (isRunnelError(error, "NotFound")) return;
    await root.removeFolder(temp);
  }
}

/** What lies there differs in nothing but attributes from what the commit makes. */
async function isSameThing(tree: LiveTree, path: string, { stat }: Found, state: NodeState): Promise<boolean> {
  if (stat.type !== state.type) return false;
  switch (state.type) {
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

/** Makes the object in temp/; resolves to its handle. */
export async function prepareMake(tree: LiveTree, commit: AcceptedCommit): Promise<Uint8Array | undefined> {
  const state = stateAfter(commit, commit.result.node);
  if (state === undefined) return undefined;
  const temp = tempPath(commit.seq, "new");
  await clearTemp(tree.root, temp);
  await makeTemp(tree.root, temp, state);
  await tree.setAttributes((change) => tree.root.setStat(temp, change), state.type, state);
  return tree.root.handle(temp);
}

/** `isPlaced`: it is in the tree since before an interruption. */
export async function raiseMake(tree: LiveTree, commit: AcceptedCommit, operation: Op<"make">, handle: Uint8Array, isPlaced: boolean): Promise<void> {
  const { folder, name } = operation;
  const { node } = commit.result;
  const state = stateAfter(commit, node);
  if (state === undefined) return;
  // Stored before the interruption; what another program did since may be in it.
  if (tree.isRetry && (await tree.rows.get(folder, name))?.node === node) return;
  const temp = tempPath(commit.seq, "new");
  const path = await tree.pathIn(folder, name);
  let placedHandle = handle;
  if (!isPlaced) {
    const placed = await tree.placeNew(temp, folder, name, (found) => isSameThing(tree, path, found, state));
    if (placed !== "placed") {
      await clearTemp(tree.root, temp);
      await tree.setAttributes((change) => tree.root.setStat(path, change), state.type, state);
      placedHandle = placed.handle;
      if (state.type === "folder") tree.list(node);
    }
  }
  await recordNew(tree, { node, folder, name, version: 0, handle: placedHandle }, path, state);
  tree.touch(folder, stateAfter(commit, folder));
}

/** The row of a name just put in place. What another program has done to it since is for the next look to find. */
async function recordNew(tree: LiveTree, key: Omit<DiskRow, "stat">, path: string, state: NodeState): Promise<void> {
  const found = await tree.find(path);
  const isOurs = found !== undefined && isSameHandle(found.handle, key.handle);
  const isAsMade = isOurs && (found.stat.type !== "file" || found.stat.sizeBytes === 0);
  const like = found?.stat ?? (await tree.root.stat(""));
  const stat = isAsMade ? found.stat : { ...like, type: state.type, sizeBytes: 0, mtimeNs: state.mtimeNs, ctimeNs: -1n };
  tree.rows.put({ ...key, stat });
  if (!isAsMade) tree.lookAt(path);
}

export async function raiseLink(tree: LiveTree, commit: AcceptedCommit, operation: Op<"link">): Promise<void> {
  const { node, folder, name } = operation;
  const rows = await tree.rows.ofNode(node);
  const first = rows[0];
  if (first === undefined) return;
  const source = await sourceOfLink(tree, rows);
  tree.touch(folder, stateAfter(commit, folder));
  if (source === undefined) {
    // Another program took all its names: the next look says that the new one is absent too.
    tree.rows.put({ ...first, folder, name });
    await lookAtRows(tree, [...rows, { ...first, folder, name }]);
    return;
  }
  const temp = tempPath(commit.seq, "link");
  await removeIfThere(tree.root, temp);
  await tree.root.link(source.path, temp);
  const isOurs = async (found: Found): Promise<boolean> => isSameHandle(found.handle, source.found.handle);
  if ((await tree.placeNew(temp, folder, name, isOurs)) !== "placed") await removeIfThere(tree.root, temp);
  const after = await tree.find(source.path);
  const recorded = tree.recorded(first, source.found, after);
  for (const row of [...rows, { ...first, folder, name }]) tree.rows.put({ ...row, ...recorded });
}

async function sourceOfLink(tree: LiveTree, rows: readonly DiskRow[]): Promise<{ path: string; found: Found } | undefined> {
  for (const row of rows) {
    const path = await tree.rows.pathOfName(row.folder, row.name);
    const found = path === undefined ? undefined : await tree.find(path);
    if (path !== undefined && isSameHandle(found?.handle, row.handle)) return { path, found: found as Found };
  }
  return undefined;
}

export async function lookAtRows(tree: LiveTree, rows: readonly Pick<DiskRow, "folder" | "name">[]): Promise<void> {
  for (const { folder, name } of rows) {
    const path = await tree.rows.pathOfName(folder, name);
    if (path !== undefined) tree.lookAt(path);
  }
}
