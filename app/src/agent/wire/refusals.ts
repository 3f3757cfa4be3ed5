// Sorts the refusals of a server that does not let this device attach.
import { RunnelError } from "@runnel/shared";

/**
 * Kinds that say that this device, or a volume of that name, is none of the server's: only a person can change that.
 */
export const NOT_LET_IN = ["Denied", "Revoked", "NotFound"] as const;
/** Kinds that say that the volume cannot be served now: as without a link. */
export const NOT_NOW = ["Unavailable", "Busy"] as const;

export function unreachable(what: string, cause: RunnelError): RunnelError {
  return cause.kind === "Unreachable" ? cause : new RunnelError("Unreachable", what, cause.message, { cause });
}
