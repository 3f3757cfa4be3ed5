// Bringing up setAttr [F28].
import type { DiskStat, SetStat } from "@runnel/shared";
import { ROOT_NODE } from "@runnel/shared";
import type { DiskRow, Operation } from "../../meta/meta-store.ts";
import type { AcceptedCommit } from "../content-store.ts";
import { ROOT_ROW } from "./disk-rows.ts";
import type { LiveTree } from "./live-tree.ts";
import { stateAfter } from "./raise-make.ts";
import { isSameHandle, isSameTuple } from "./same-file.ts";

type SetAttr = Extract<Operation, { op: "setAttr" }>;

async function rowsOf(tree: LiveTree, node: number): Promise<DiskRow[]> {
  if (node !== ROOT_NODE) return tree.rows.ofNode(node);
  const row = await tree.rows.get(ROOT_ROW.folder, ROOT_ROW.name);
  return row === undefined ? [] : [row];
}

/** The tuple to record: the new one, unless another program's change shows in it, which the next look has to find. */
function recordedStat(row: DiskRow, before: DiskStat, after: DiskStat, change: SetStat, isRetry: boolean): DiskStat {
  if (row.stat.type === "folder") return after;
  if (isRetry) return { ...row.stat, ...change, mtimeNs: change.mtimeNs ?? row.stat.mtimeNs, ctimeNs: -1n };
  const isOurs = isSameTuple(before, row.stat) && after.sizeBytes === before.sizeBytes;
  return isOurs && after.mtimeNs === (change.mtimeNs ?? before.mtimeNs) ? after : row.stat;
}

export async function raiseAttributes(tree: LiveTree, commit: AcceptedCommit, operation: SetAttr): Promise<void> {
  const { node, change } = operation;
  const rows = await rowsOf(tree, node);
  const row = rows[0];
  const path = node === ROOT_NODE ? "" : row && (await tree.rows.pathOfName(row.folder, row.name));
  const state = stateAfter(commit, node);
  if (path === undefined || state === undefined) return;
  const before = await tree.find(path);
  if (before === undefined || (row !== undefined && !isSameHandle(before.handle, row.handle))) return tree.lookAt(path);
  await tree.setAttributes((part) => tree.root.setStat(path, part), state.type, change);
  const after = await tree.find(path);
  if (row === undefined || after === undefined || !isSameHandle(after.handle, row.handle)) return;
  const stat = recordedStat(row, before.stat, after.stat, change, tree.isRetry);
  for (const each of rows) tree.rows.put({ ...each, stat });
}
