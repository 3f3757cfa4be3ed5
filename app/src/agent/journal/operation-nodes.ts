// Says which nodes a change of names or attributes names.
import type { TreeOperation } from "@runnel/shared/tree";

/** Lists the folders in which it gives or takes names. */
export function placesIn(operation: TreeOperation): number[] {
  if (operation.op === "setAttr") return [];
  return operation.op === "rename" ? [operation.folder, operation.toFolder] : [operation.folder];
}

/** Lists what it is of, with the folders that must be known for it to be planned. */
export function nodesIn(operation: TreeOperation): number[] {
  const { node } = operation;
  return [node, ...placesIn(operation)];
}

/** Returns the same change by other ids; that of what is made stays. `expected`: the id of what it expects. */
export function withNodes(
  operation: TreeOperation,
  idOf: (node: number) => number,
  expected: (node: number) => number = idOf,
): TreeOperation {
  if (operation.op === "setAttr") return { ...operation, node: idOf(operation.node) };
  const folder = idOf(operation.folder);
  if (operation.op === "make") return { ...operation, folder };
  const node = idOf(operation.node);
  if (operation.op === "link") return { ...operation, folder, node };
  const expects = operation.expects && { ...operation.expects, node: expected(operation.expects.node) };
  if (operation.op === "remove") return { ...operation, folder, node, expects };
  return { ...operation, folder, node, toFolder: idOf(operation.toFolder), expects };
}
