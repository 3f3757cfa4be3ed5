// Says for a person that a stick failed, whatever the system says of one that was pulled out: never that a file of a
// drive did.
import { type ErrorKind, RunnelError, isRunnelError } from "@runnel/shared";

/** Kinds that say all there is to say. */
const CLEAR: readonly ErrorKind[] = ["NoSpace", "Denied", "NotFolder", "Version", "Interrupted"];

/** @throws as `stickFailure` says it; `clear`: further kinds that are left as they are. */
export async function onStick<T>(path: string, work: () => Promise<T>, ...clear: ErrorKind[]): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isRunnelError(error, ...CLEAR, ...clear) ? error : stickFailure(path, error);
  }
}

/** Returns what is no expected failure as it is. */
export function stickFailure(path: string, error: unknown): unknown {
  if (!isRunnelError(error)) return error;
  if (error.kind === "ReadOnly")
    return new RunnelError("ReadOnly", "carry", `The stick at ${path} can only be read.`, { cause: error });
  const sentence = `The stick at ${path} fails, or was pulled out. What was written whole counts: put it in, and run the same again.`;
  return new RunnelError("Unavailable", "carry", sentence, { cause: error });
}
