// Secrets sealed by the system, for this user on this machine: the Data Protection API of Windows. Elsewhere both are
// refused as Unsupported.
import { coreAddon } from "./core-addon.ts";
import { toRunnelError } from "./system-call.ts";

/** @throws RunnelError Unsupported; Denied when the system gives its key to nobody now. */
export function sealSecret(bytes: Uint8Array): Uint8Array {
  try {
    return new Uint8Array(coreAddon().sealSecret(bytes));
  } catch (error) {
    throw toRunnelError(error, "seal a secret");
  }
}

/** @throws RunnelError Unsupported; Invalid for what is not whole, or was sealed for another user or machine. */
export function openSecret(sealed: Uint8Array): Uint8Array {
  try {
    return new Uint8Array(coreAddon().openSecret(sealed));
  } catch (error) {
    throw toRunnelError(error, "open a secret");
  }
}
