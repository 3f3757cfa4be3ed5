// Exports the rules of the tree.
export * from "./checks.ts";
export * from "./draft.ts";
export { draftLink, draftRemove, draftRename, newState, subfolders } from "./plan-names.ts";
export { lastNameOf, planOperation } from "./plan-operation.ts";
export type * from "./tree-rows.ts";
