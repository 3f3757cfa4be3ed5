// Sentences about changes that programs were told of and the server refused when they came to it: what others did
// meanwhile stands then.
import { type ErrorKind, RunnelError } from "@runnel/shared";
import type { TreeOperation } from "@runnel/shared/tree";
import type { JournalCommit, JournalOperation } from "../journal/journal.ts";

const WHY: Partial<Record<ErrorKind, string>> = {
  Exists: "something else has that name there.",
  NotFound: "it was removed or renamed elsewhere.",
  Stale: "it was removed or renamed elsewhere.",
  NotEmpty: "something was put into it elsewhere.",
  NotFolder: "what it is in is no folder there.",
};

/**
 * Says what could not be done, and why. `isGone`: the file has no name any more. @returns undefined where it came to
 * what programs were told all the same.
 */
export function refusalSentence(
  { operation, path }: JournalOperation,
  { kind, message, detail }: RunnelError,
  isGone: boolean,
): string | undefined {
  if (operation.op === "remove" && kind === "NotFound" && isGone) return undefined;
  const isChanged = operation.op === "remove" && kind === "Stale" && detail.node === operation.node;
  const why = isChanged ? "it was changed elsewhere." : (WHY[kind] ?? message);
  return `${path} could not be ${doneIn(operation)} on the server: ${why}`;
}

/** The refusal of a name for a file that got it with this content, which the server does not have in that file. */
export function hasNoContent({ path, copy }: JournalCommit): RunnelError {
  const sentence =
    copy === undefined
      ? `The file on the server does not have what was saved in ${path}.`
      : `What was saved in ${copy.of} is kept as ${path}.`;
  return new RunnelError("Lost", "change names", sentence);
}

/** The same where the content is on its way into a file of its own. */
export function becomesCopy({ path, copy }: JournalCommit): RunnelError {
  return new RunnelError("Lost", "change names", `What was saved in ${copy?.of ?? path} becomes a conflict copy.`);
}

function doneIn(operation: TreeOperation): string {
  if (operation.op === "make") return "made";
  if (operation.op === "link") return "linked";
  if (operation.op === "remove") return "removed";
  return operation.op === "rename" ? `renamed to ${operation.toName}` : "changed";
}
