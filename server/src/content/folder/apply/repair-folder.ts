// Repairing: after a power cut the index may have lost rows that applying had stored, and rolling the log forward put
// other programs' later changes over them. Once what was pending is applied, rows and tree have to bind the same names
// to the same nodes; where they do not, the row follows the tree, and the next comparison tells what has become of the
// file [F31].
import type { NodeState } from "@runnel/shared";
import { isRunnelError } from "@runnel/shared";
import type { DiskRow } from "../../../meta/meta-store.ts";
import type { LiveTree } from "./live-tree.ts";
import type { FoundEntry } from "../disk/found.ts";
import { isSameHandle } from "../disk/same-file.ts";

/** Entries of a folder read at once. */
const PAGE_ENTRIES = 1000;

/** Tells, by size and mtime, whether what lies there is the node's current version. */
function isCurrent(state: NodeState, { stat }: FoundEntry): boolean {
  if (stat.type !== state.type) return false;
  return stat.type !== "file" || (stat.sizeBytes === state.sizeBytes && stat.mtimeNs === state.mtimeNs);
}

/**
 * Runs in the serial queue. `isPending`: a commit to come binds the name. `isAhead`: the tree has a commit that is not
 * yet known to be one to come; false is returned then, and it is to be tried again. The changed rows are for the caller
 * to store.
 */
export async function repairFolder(
  tree: LiveTree,
  folder: number,
  isPending: (name: string) => boolean,
  isAhead: () => Promise<boolean>,
): Promise<boolean> {
  const left = new Map((await tree.rows.ofFolder(folder)).map((row) => [row.name, row]));
  const { meta } = tree.deps;
  for (let after = ""; ;) {
    const entries = await meta.list(folder, after, PAGE_ENTRIES);
    if (await isAhead()) return false;
    for (const { name, state } of entries) {
      if (left.get(name)?.node === state.node || isPending(name)) left.delete(name);
      else await bindAsIs(tree, folder, name, state);
    }
    after = entries.at(-1)?.name ?? "";
    if (entries.length < PAGE_ENTRIES) break;
  }
  for (const row of left.values()) if (!isPending(row.name)) await drop(tree, row);
  return true;
}

async function drop(tree: LiveTree, row: DiskRow): Promise<void> {
  const now = await tree.rows.get(row.folder, row.name);
  if (now?.node !== row.node) return;
  tree.rows.remove(row);
  if ((await tree.rows.ofNode(row.node)).length === 0) await tree.lose(row);
}

async function bindAsIs(tree: LiveTree, folder: number, name: string, state: NodeState): Promise<void> {
  const path = await tree.rows.pathOfName(folder, name);
  if (path === undefined) return;
  await tree.bind(await rowFor(tree, { folder, name }, state, await findUncovered(tree, path)));
}

/** Below another file system that was mounted meanwhile nothing can be seen: the next comparison passes over it. */
async function findUncovered(tree: LiveTree, path: string): Promise<FoundEntry | undefined> {
  try {
    return await tree.find(path);
  } catch (error) {
    if (isRunnelError(error, "Unavailable")) return undefined;
    throw error;
  }
}

async function rowFor(
  tree: LiveTree,
  name: { folder: number; name: string },
  state: NodeState,
  found: FoundEntry | undefined,
): Promise<DiskRow> {
  const key = { ...name, node: state.node, version: state.type === "file" ? state.version : 0 };
  const others = await tree.rows.ofNode(state.node);
  const isKnown = found !== undefined && others.every((row) => isSameHandle(row.handle, found.handle));
  if (found !== undefined && isKnown && isCurrent(state, found)) {
    const version = { node: state.node, seq: state.version };
    if (state.type === "file" && state.sizeBytes > 0) tree.rows.setPlace(version, { at: "disk" });
    return { ...key, ...found };
  }
  const like = found?.stat ?? (await tree.root.stat(""));
  const stat = { ...like, type: state.type, sizeBytes: state.sizeBytes, mtimeNs: state.mtimeNs, ctimeNs: -1n };
  return { ...key, handle: others[0]?.handle ?? new Uint8Array(0), stat };
}
