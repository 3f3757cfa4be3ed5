// Names that are taken from a file which another client has changed, or put there, unseen by the program that takes
// them: it is not removed, and what was to have its name goes beside (rule W186). Reads only.
import type { NodeState } from "@runnel/shared";
import { type Expected, type TreeOperationOf, refusal } from "@runnel/shared/tree";
import type { ExternalOperation, Operation } from "../meta-store.ts";
import type { MetaTables } from "../meta-tables.ts";
import { freeConflictName } from "./content.ts";

/** Operation that is done in place of another one, and whether its file goes beside what it would have replaced. */
export interface Expecting {
  operation: Operation;
  isBeside: boolean;
}

/**
 * Finds what is done in place of an operation that says what it expects to take a name from; undefined: it says nothing
 * of that. @throws Stale for a removal of a file that is not as its program saw it.
 */
export function asExpected(
  tables: MetaTables,
  asked: Operation | ExternalOperation,
  wallNs: bigint,
  instance: string,
): Expecting | undefined {
  if ((asked.op !== "rename" && asked.op !== "remove") || asked.expects === undefined) return undefined;
  const { expects, ...operation } = asked;
  const [folder, name] =
    operation.op === "rename" ? [operation.toFolder, operation.toName] : [operation.folder, operation.name];
  const state = tables.node(tables.binding(folder, name) ?? 0);
  const isItself = operation.op === "rename" && state?.node === operation.node;
  const isLost = state?.type === "file" && state.nlink === 1 && !isItself;
  if (!isLost || isSeen(tables, state, expects, instance)) return { operation, isBeside: false };
  if (operation.op === "remove")
    throw refusal("Stale", "The file was changed.", { node: state.node, current: state.version });
  if (operation.how !== "replace") return { operation, isBeside: false };
  return goingBeside(tables, operation, expects, { wallNs, instance });
}

/**
 * The program's own version of the file, where an earlier rename has put that beside, is what this one takes the name
 * of.
 */
function goingBeside(
  tables: MetaTables,
  operation: TreeOperationOf<"rename">,
  expects: Expected,
  { wallNs, instance }: { wallNs: bigint; instance: string },
): Expecting {
  const own = tables.node(expects.node);
  const [place] =
    own === undefined ? [] : tables.namesOf(own.node).filter(({ folder }) => folder === operation.toFolder);
  if (place !== undefined && own !== undefined && own.node !== operation.node && isSeen(tables, own, expects, instance))
    return { operation: { ...operation, toName: place.name }, isBeside: false };
  const toName = freeConflictName(tables, operation.toFolder, operation.toName, wallNs);
  return { operation: { ...operation, toName, how: "keep" }, isBeside: true };
}

/** Says whether a file is as the program saw it, or as an operation of its client has left it since. */
function isSeen(
  tables: MetaTables,
  { node, version }: NodeState,
  { version: seen, own }: Expected,
  instance: string,
): boolean {
  if (version === seen) return true;
  return own.some((n) => {
    const result = tables.result(instance, n)?.result;
    return result?.node === node && result.version === version;
  });
}
