// Keeps the agent's home to its user on Linux and macOS, by its owner and its mode.
/* oxlint-disable node/no-sync -- one folder, when the agent starts */
import { chmodSync, lstatSync, readdirSync, statSync } from "node:fs";
import { RunnelError } from "@runnel/shared/base";

const OPERATION = "make the agent's home";

export function claimHome(folder: string): void {
  // The owner decides what lies in it, whatever its mode.
  if ([lstatSync(folder), statSync(folder)].some(({ uid }) => uid !== process.getuid?.())) {
    const sentence = `${folder} belongs to another user. Set RUNNEL_HOME to a folder of your own.`;
    throw new RunnelError("Denied", OPERATION, sentence);
  }
  if ((lstatSync(folder).mode & 0o077) === 0) return;
  // Anything else in it belongs to somebody who opened the folder for a reason.
  if (readdirSync(folder).length > 0) {
    const sentence = `${folder} is open to other users. Run "chmod 700" on it, or set RUNNEL_HOME to a folder of its own.`;
    throw new RunnelError("Denied", OPERATION, sentence);
  }
  chmodSync(folder, 0o700);
}
