// Words for a person about the state of a mount.
import type { FolderPauseStatus, MountStatus } from "../mount-status.ts";

export function rightChanged(isReadOnly: boolean): string {
  const now = isReadOnly ? "The server lets this device only read now" : "The server lets this device write now";
  return `${now}. Unmount the drive and mount it again.`;
}

/** `until`: the end of the pause. */
export function pausedSentence(
  until: string,
  { mode, unsentFiles, unsentNames }: Pick<MountStatus, "mode" | "unsentFiles" | "unsentNames">,
): string {
  const all = unsentFiles + unsentNames;
  const waits = all === 0 ? "" : ` ${all} ${all === 1 ? "change waits" : "changes wait"} here.`;
  const may = mode === "async" ? "read and changed." : "read, and nothing can be changed.";
  return `Paused ${until}.${waits} Files that are here can be ${may}`;
}

/** A sentence about folders and files that are paused by themselves, with a space before it; "": there are none. */
export function foldersPaused(paused: readonly FolderPauseStatus[]): string {
  const [first] = paused;
  if (first === undefined) return "";
  return paused.length === 1
    ? ` ${first.path} is paused ${first.until}.`
    : ` ${paused.length} folders and files are paused.`;
}

/** A sentence about colleagues who are wanted, with a space before it. */
export function colleaguesRest(restsForLine: boolean): string {
  return restsForLine ? " Nothing is shared with colleagues: the line is metered." : "";
}

/** `refusal`: why the server does not let this device in. */
export function sentenceOf(
  state: MountStatus["state"],
  { unsentFiles, unsentNames }: Pick<MountStatus, "unsentFiles" | "unsentNames">,
  refusal: string | undefined,
  isReadOnly: boolean,
): string {
  const [all, only] = [unsentFiles + unsentNames, unsentNames === 0 ? "file" : "change"];
  const unsent = all === 0 ? "" : ` ${all} ${only}${all === 1 ? " waits" : "s wait"} and will be sent.`;
  if (state === "offline" && refusal !== undefined) return `${refusal}${unsent}`;
  if (state === "offline") return `Offline.${unsent === "" ? " Files in the cache can be read." : unsent}`;
  if (state === "listing") return `Connected, reading the folder list.${unsent}`;
  if (isReadOnly) return "Connected. This drive can only be read.";
  return unsent === "" ? "Everything is saved on the server." : `Connected.${unsent}`;
}
