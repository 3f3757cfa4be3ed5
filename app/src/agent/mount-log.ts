// Writes into agent.log for a mount: one line with its time. An expected failure is written by its kind, without a
// stack and without words that may name a file.
import { type ErrorKind, isRunnelError } from "@runnel/shared";
import type { Logger } from "pino";

/** Kinds that nothing in a sound agent leads to: where they come from matters. */
const OWN_FAULTS: readonly ErrorKind[] = ["Invalid", "Io", "Corrupt"];

/** Kinds that tell a program what it did: it sees the error itself, and the log is not to drown in them. */
const PROGRAMS_OWN: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  "NotFound",
  "Stale",
  "Exists",
  "NotEmpty",
  "NoSpace",
  "Quota",
  "Denied",
  "TooLarge",
  "BadName",
  "Busy",
  "Interrupted",
  "ReadOnly",
  "NotFolder",
  "IsFolder",
  "Unsupported",
  "NameTooLong",
  "LinkLoop",
  "NoAttribute",
]);

/** Returns whether a program's request failed as such requests do. */
export function isProgramsOwn(kind: ErrorKind): boolean {
  return PROGRAMS_OWN.has(kind);
}

export function mountLog(log: Logger): (message: string, error?: unknown) => void {
  return (message, error) => {
    if (error === undefined) log.info(message);
    else if (isRunnelError(error) && !OWN_FAULTS.includes(error.kind))
      log.warn({ kind: error.kind, operation: error.operation }, message);
    else log.error({ err: error }, message);
  };
}
