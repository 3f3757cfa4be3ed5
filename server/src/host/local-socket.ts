// A socket in a folder that only its user can enter, whatever the length of its path (sun_path holds 108 bytes).
/* oxlint-disable node/no-sync -- one descriptor, when the server starts to listen */
import { closeSync, openSync } from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { listenPrivately } from "@runnel/shared/base";

const PATH_BYTES_MAX = 100;

/**
 * The socket's path, by way of the opened folder where it is too long. Close when connected, or when the server has
 * ended.
 */
export function socketPath(folder: string, name: string): { path: string; close(): void } {
  const whole = join(folder, name);
  if (Buffer.byteLength(whole) <= PATH_BYTES_MAX || process.platform !== "linux")
    return { path: whole, close: () => undefined };
  const fd = openSync(folder, "r");
  return { path: `/proc/self/fd/${fd}/${name}`, close: () => closeSync(fd) };
}

/**
 * Takes the place of what a dead server left: the caller holds the folder's lock. Resolves to what ends it. @throws
 * RunnelError
 */
export async function listenLocally(server: Server, folder: string, name: string): Promise<() => Promise<void>> {
  const { path, close } = socketPath(folder, name);
  try {
    await listenPrivately(server, path, "open the administrator's socket");
  } catch (error) {
    close();
    throw error;
  }
  return async () => {
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    close();
  };
}
