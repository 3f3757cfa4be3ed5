// Says whether nodes are below folders, by their names: for what a write lease on a folder covers.
import { ROOT_NODE } from "@runnel/shared";

export type NamesOf = (node: number) => readonly { folder: number }[];

/** Says whether a node is one of these folders or below one, by any of its names; one that has no name may be. */
export function isAnyBelow(node: number, folders: ReadonlySet<number>, namesOf: NamesOf): boolean {
  return areBelow({ folders, namesOf, isEnough: (below) => below.some(Boolean), isNameless: true }, node, new Map());
}

/**
 * Says whether it is, by all its names: for `links`, the number of them that it has, may be more than are known. One
 * that has no name is not.
 */
export function isAllBelow(node: number, links: number, folders: ReadonlySet<number>, namesOf: NamesOf): boolean {
  if (folders.size === 0) return false;
  if (folders.has(ROOT_NODE) || folders.has(node)) return true;
  if (namesOf(node).length < links) return false;
  return areBelow({ folders, namesOf, isEnough: (below) => below.every(Boolean), isNameless: false }, node, new Map());
}

interface Question {
  folders: ReadonlySet<number>;
  namesOf: NamesOf;
  /** Says whether so many of its names suffice. */
  isEnough(below: readonly boolean[]): boolean;
  /** The answer for a node without a name. */
  isNameless: boolean;
}

/** `known`: answers for nodes on the way; a damaged tree may have a folder below itself. */
function areBelow(question: Question, node: number, known: Map<number, boolean>): boolean {
  const { folders, namesOf, isEnough, isNameless } = question;
  if (folders.has(node)) return true;
  if (node === ROOT_NODE) return false;
  const before = known.get(node);
  if (before !== undefined) return before;
  known.set(node, false);
  const names = namesOf(node);
  const is = names.length === 0 ? isNameless : isEnough(names.map(({ folder }) => areBelow(question, folder, known)));
  known.set(node, is);
  return is;
}
