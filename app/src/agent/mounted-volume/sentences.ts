// Words for a person about the state of a mount.
import type { MountStatus } from "../mount-status.ts";

export function rightChanged(isReadOnly: boolean): string {
  const now = isReadOnly ? "The server lets this device only read now" : "The server lets this device write now";
  return `${now}. Unmount the drive and mount it again.`;
}

/** `refusal`: why the server does not let this device in. */
export function sentenceOf(
  state: MountStatus["state"],
  unsentFiles: number,
  refusal: string | undefined,
  isReadOnly: boolean,
): string {
  const unsent =
    unsentFiles === 0 ? "" : ` ${unsentFiles} ${unsentFiles === 1 ? "file waits" : "files wait"} and will be sent.`;
  if (state === "offline" && refusal !== undefined) return `${refusal}${unsent}`;
  if (state === "offline") return `Offline.${unsent === "" ? " Files in the cache can be read." : unsent}`;
  if (state === "listing") return `Connected, reading the folder list.${unsent}`;
  if (isReadOnly) return "Connected. This drive can only be read.";
  return unsent === "" ? "Everything is saved on the server." : `Connected.${unsent}`;
}
