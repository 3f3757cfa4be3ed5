// Turns what the addon rejects with into the one class of expected failures.
import { RunnelError, fromSystemError } from "@runnel/shared/model";
import type { ErrorKind } from "@runnel/shared";

/** Codes that no system has, and one that means another thing here: no call of the addon follows a symlink. */
const KIND_OF_OWN_CODE: Record<string, ErrorKind> = {
  RUNNEL_STALE: "Stale",
  RUNNEL_CORRUPT: "Corrupt",
  ELOOP: "NotFolder",
};

export function toRunnelError(error: unknown, operation: string): RunnelError {
  const code = (error as { code?: unknown } | null)?.code;
  const kind = typeof code === "string" ? KIND_OF_OWN_CODE[code] : undefined;
  if (kind !== undefined) return new RunnelError(kind, operation, `${operation}: ${kind}`, { cause: error });
  return fromSystemError(error, operation);
}

/** Awaits a call of the addon. */
export async function systemCall<T>(operation: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw toRunnelError(error, operation);
  }
}
