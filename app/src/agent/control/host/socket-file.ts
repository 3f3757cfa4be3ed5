// The file of the control socket, which only its user may open.
import { chmodSync, rmSync } from "node:fs";
import type { Server } from "node:net";
import { fromSystemError } from "@runnel/shared";

const OTHERS_MASK = 0o177;
const PRIVATE_MODE = 0o600;

/** A pipe of Windows lies in no folder and has no mode. */
const isPipe = process.platform === "win32";

/** Listens at a path in place of what a dead agent left there. The caller holds the home's lock. @throws RunnelError */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  if (!isPipe) rmSync(path, { force: true });
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
    throw fromSystemError(error, "open the control socket");
  }
}

export function removeSocket(path: string): void {
  if (!isPipe) rmSync(path, { force: true });
}
