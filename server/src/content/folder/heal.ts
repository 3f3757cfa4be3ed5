// Healing: after a power cut the index may have lost rows that bringing up had stored, and rolling the log forward put other programs' later changes
// over them. Names that the tree binds and no row knows get one, so that the next comparison tells what has become of them.
import type { NodeState } from "@runnel/shared";
import type { DiskRow } from "../../meta/meta-store.ts";
import type { AcceptedCommit } from "../content-store.ts";
import type { Found, LiveTree } from "./live-tree.ts";
import { isSameHandle } from "./same-file.ts";

type Name = { folder: number; name: string };

/** The names that the commits have to do with, as the tree has them now. */
async function namesOf(tree: LiveTree, commits: readonly AcceptedCommit[]): Promise<Map<string, Name>> {
  const names = new Map<string, Name>();
  for (const { change, result } of commits) {
    for (const { folder, name } of change.bindings) names.set(`${folder}/${name}`, { folder, name });
    for (const { folder, name } of await tree.context.meta.namesOf(result.node)) names.set(`${folder}/${name}`, { folder, name });
  }
  return names;
}

/** What lies there is, as far as size and mtime tell, the node's current version. */
function isCurrent(state: NodeState, { stat }: Found): boolean {
  if (stat.type !== state.type) return false;
  return stat.type !== "file" || (stat.sizeBytes === state.sizeBytes && stat.mtimeNs === state.mtimeNs);
}

async function isRightHandle(tree: LiveTree, node: number, found: Found): Promise<boolean> {
  const rows = await tree.rows.ofNode(node);
  return rows.every((row) => isSameHandle(row.handle, found.handle));
}

/** Puts the rows that are missing. To be stored by the caller. */
export async function heal(tree: LiveTree, commits: readonly AcceptedCommit[]): Promise<void> {
  const { meta } = tree.context;
  for (const { folder, name } of (await namesOf(tree, commits)).values()) {
    const state = await meta.lookup(folder, name);
    const row = await tree.rows.get(folder, name);
    const path = await tree.rows.pathOfName(folder, name);
    if (state === undefined || path === undefined || row?.node === state.node) continue;
    const found = await tree.find(path);
    await tree.bind(await rowFor(tree, { folder, name }, state, found));
    tree.lookAt(path);
  }
}

async function rowFor(tree: LiveTree, name: Name, state: NodeState, found: Found | undefined): Promise<DiskRow> {
  const key = { ...name, node: state.node, version: state.type === "file" ? state.version : 0 };
  if (found !== undefined && isCurrent(state, found) && (await isRightHandle(tree, state.node, found))) {
    const version = { node: state.node, seq: state.version };
    const place = (await tree.context.meta.version(version))?.place.at;
    if (state.type === "file" && state.sizeBytes > 0 && place !== "disk") tree.rows.setPlace(version, { at: "disk" });
    return { ...key, ...found };
  }
  const like = found?.stat ?? (await tree.root.stat(""));
  const other = (await tree.rows.ofNode(state.node))[0];
  const stat = { ...like, type: state.type, sizeBytes: state.sizeBytes, mtimeNs: state.mtimeNs, ctimeNs: -1n };
  return { ...key, handle: other?.handle ?? new Uint8Array(0), stat };
}
