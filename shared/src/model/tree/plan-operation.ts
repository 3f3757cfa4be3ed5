// The rules of the tree: decides what a change of names or attributes comes to, for a server that commits it and for a
// client that shows it first. Pure decisions: reads the tree, changes nothing.
import { changeXattrs } from "../xattrs.ts";
import { type NodeState, ROOT_NODE } from "../node.ts";
import { notFound, refusal } from "./checks.ts";
import { Draft, pickAttributes } from "./draft.ts";
import { decideLink, decideMake, decideRemove, decideRename } from "./plan-names.ts";
import type { Decision, LastName, TreeOperation, TreeOperationOf, TreeRows } from "./tree-rows.ts";

/** `instance`: whose change it is. @throws RunnelError for a refusal; Corrupt for a damaged tree. */
export function planOperation(tree: TreeRows, operation: TreeOperation, wallNs: bigint, instance: string): Decision {
  switch (operation.op) {
    case "make":
      return decideMake(tree, operation, wallNs);
    case "link":
      return decideLink(tree, operation, wallNs);
    case "rename":
      return decideRename(tree, operation, wallNs);
    case "remove":
      return decideRemove(tree, operation, wallNs);
    case "setAttr":
      return decideSetAttr(tree, operation, wallNs, instance);
  }
}

/**
 * The last name of a node without a name. Removed by the one who asks: it works on with its open file, unseen (POSIX).
 */
export function lastNameOf(tree: TreeRows, state: NodeState, instance: string): { last: LastName; isOwn: boolean } {
  const last = tree.lastName(state.node) ?? { folder: ROOT_NODE, name: `node ${state.node}`, instance: "" };
  return { last, isOwn: instance !== "" && last.instance === instance };
}

function decideSetAttr(
  tree: TreeRows,
  operation: TreeOperationOf<"setAttr">,
  wallNs: bigint,
  instance: string,
): Decision {
  const state = tree.node(operation.node);
  if (state === undefined) throw notFound(tree, `Node ${operation.node} is not known.`);
  if (state.nlink === 0 && !lastNameOf(tree, state, instance).isOwn) {
    throw notFound(tree, `Node ${operation.node} has no name.`);
  }
  const draft = new Draft(tree, wallNs);
  draft.edit(state.node, pickAttributes(operation.change));
  if (operation.change.xattr !== undefined) {
    if (state.type !== "file" && state.type !== "folder")
      throw refusal("Denied", `Node ${state.node} is a ${state.type}.`);
    draft.editXattrs(state.node, changeXattrs(tree.xattrs(state.node), operation.change.xattr).length > 0);
  }
  return draft.decide(state.node);
}
