// Planning of new contents: write, setRecipe. Pure decisions: reads tables, changes none.
import { EMPTY_RECIPE, LIMITS, ROOT_NODE, recipeSize } from "@runnel/shared/model";
import type { NodeState, Recipe } from "@runnel/shared";
import { conflictName } from "../conflict-name.ts";
import type { ExternalOperation, Operation } from "../meta-store.ts";
import type { LastName, MetaTables } from "../meta-tables.ts";
import { type Decision, Draft, lastNameOf, notFound, pickAttributes, refusal, unchanged } from "@runnel/shared/tree";

type Op<Name extends Operation["op"]> = Extract<Operation, { op: Name }>;
type SetRecipe = Extract<ExternalOperation, { op: "setRecipe" }>;

function isSameRecipe(a: Recipe | undefined, b: Recipe | undefined): boolean {
  return a !== undefined && b !== undefined && Buffer.compare(a.digests, b.digests) === 0;
}

/** A base that is not current is no conflict when the content is the same ([W27]). */
function isConflict(tables: MetaTables, state: NodeState, operation: Op<"write">): boolean {
  if (operation.base === state.version) return false;
  if (operation.content.sizeBytes !== state.sizeBytes) return true;
  if (state.sizeBytes === 0) return false;
  return !isSameRecipe(tables.recipe({ node: state.node, seq: state.version }), operation.content.recipe);
}

/** Name in a folder for what is kept beside what has that name. */
export function freeConflictName(tables: MetaTables, folder: number, name: string, wallNs: bigint): string {
  let count = 1;
  while (tables.binding(folder, conflictName(name, wallNs, count)) !== undefined) count++;
  return conflictName(name, wallNs, count);
}

/**
 * A new node for the content of one that lost its name, in the same folder while that is in the tree, else in the root.
 */
function writeConflictCopy(
  tables: MetaTables,
  operation: Op<"write">,
  state: NodeState,
  last: LastName,
  wallNs: bigint,
): Decision {
  const was = tables.node(last.folder);
  const folder = was !== undefined && was.nlink > 0 ? was.node : ROOT_NODE;
  const name = freeConflictName(tables, folder, last.name, wallNs);
  const node = tables.facts().nextNode;
  const draft = new Draft(tables, wallNs);
  draft.bind(folder, name, node);
  draft.add({ ...state, node, ...contentOf(operation, wallNs), nlink: 1, version: draft.seq });
  draft.editNames(folder, 0);
  return draft.decide(node, true);
}

function contentOf(operation: Op<"write">, wallNs: bigint): Partial<NodeState> & { sizeBytes: number } {
  return { mtimeNs: wallNs, ...pickAttributes(operation.attributes), sizeBytes: operation.content.sizeBytes };
}

export function decideWrite(tables: MetaTables, operation: Op<"write">, wallNs: bigint, instance: string): Decision {
  const { node, content } = operation;
  const state = tables.node(node);
  if (state === undefined) throw notFound(tables, `Node ${node} is not known.`);
  if (state.type === "folder") throw refusal("IsFolder", `Node ${node} is a folder.`, { node });
  if (state.type !== "file") throw refusal("Invalid", `Node ${node} is a ${state.type}.`, { rule: "file" });
  if (content.sizeBytes > LIMITS.fileBytes) {
    throw refusal("TooLarge", `A file of ${content.sizeBytes} bytes is too large.`, { limit: LIMITS.fileBytes });
  }
  if (content.recipe !== undefined && recipeSize(content.recipe) !== content.sizeBytes) {
    throw refusal("Invalid", `The recipe is not one of ${content.sizeBytes} bytes.`, { rule: "recipe" });
  }
  if (state.nlink === 0) {
    const { last, isOwn } = lastNameOf(tables, state, instance);
    if (!isOwn) return writeConflictCopy(tables, operation, state, last, wallNs);
  }
  const draft = new Draft(tables, wallNs);
  draft.edit(node, { ...contentOf(operation, wallNs), version: draft.seq });
  return draft.decide(node, isConflict(tables, state, operation));
}

/** A recipe of a version that had none; one that has a recipe keeps it. */
export function decideSetRecipe(tables: MetaTables, operation: SetRecipe): Decision {
  const { version, recipe } = operation;
  const row = tables.version(version);
  if (row === undefined) throw refusal("Gone", `Version ${version.node}.${version.seq} is not kept.`);
  if (recipeSize(recipe) !== row.sizeBytes) {
    throw refusal("Invalid", `The recipe is not one of ${row.sizeBytes} bytes.`, { rule: "recipe" });
  }
  return unchanged(tables, version.node);
}

/** The recipe a version with no bytes has. */
export function recipeOf(sizeBytes: number, recipe: Recipe | undefined): Recipe | undefined {
  return sizeBytes === 0 ? EMPTY_RECIPE : recipe;
}
