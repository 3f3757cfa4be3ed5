// A local socket that only its user may open.
/* oxlint-disable node/no-sync -- one name, when a program starts to listen or ends */
import { chmodSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { fromSystemError } from "../../errors.ts";

const OTHERS_MASK = 0o177;
const PRIVATE_MODE = 0o600;

/** A pipe of Windows lies in no folder and has no mode. */
const isPipe = process.platform === "win32";

/**
 * Listens in place of what a dead process left there. The caller holds the folder's lock. @throws RunnelError of
 * `operation`
 */
export async function listenPrivately(server: Server, path: string, operation: string): Promise<void> {
  removeSocket(path);
  // The mask makes the socket private from its first moment; it is bound before listen() returns.
  const mask = process.umask(OTHERS_MASK);
  try {
    await new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(path, () => {
        server.off("error", fail);
        done();
      });
      process.umask(mask);
    });
    if (!isPipe) chmodSync(path, PRIVATE_MODE);
  } catch (error) {
    process.umask(mask);
    throw fromSystemError(error, operation);
  }
}

export function removeSocket(path: string): void {
  if (!isPipe) rmSync(path, { force: true });
}
