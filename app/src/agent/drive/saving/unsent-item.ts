// A content that is not on the server, for a person.
import { isRunnelError } from "@runnel/shared";
import type { Save } from "../../changes/own-change.ts";
import type { JournalCommit } from "../../journal/journal.ts";

/** A content that waits. */
export interface UnsentItem {
  record: JournalCommit;
  /** Why it is not sent; undefined when it is about to be. */
  reason: string | undefined;
  /** It waits for the end of a pause. */
  isHeld: boolean;
  /** True when only a person can help: the server refused it, or its bytes are not what was written. */
  isStuck: boolean;
}

/** Kinds of failure that say nothing of the content itself. */
const PASSING = ["Unreachable", "Interrupted", "Unavailable", "Busy"] as const;

/** Says whether a failure says nothing of the content itself. */
export function isPassing(failure: unknown): boolean {
  return isRunnelError(failure, ...PASSING);
}

/** `whyHeld`: the pause that it waits for. */
export function itemOf({ record, failure }: Save, whyHeld: string | undefined): UnsentItem {
  return {
    record,
    reason: whyHeld ?? (failure === undefined ? undefined : wordsOf(failure)),
    isHeld: whyHeld !== undefined,
    isStuck: failure !== undefined && !isPassing(failure),
  };
}

/** The path that a person knows it by. */
export function nameOf({ path, copy }: JournalCommit): string {
  return copy?.of ?? path;
}

/** A sentence about a failure. */
export function wordsOf(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
