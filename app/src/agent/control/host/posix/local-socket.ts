// The control socket as a file: in the home, or where its path is short enough.
/* oxlint-disable node/no-sync -- one folder, when the agent starts */
// oxlint-disable-next-line no-restricted-imports -- of one path
import { createHash } from "node:crypto";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RunnelError } from "@runnel/shared/base";
import type { Environment } from "../system.ts";

/** sun_path holds 108 bytes on Linux and 104 on macOS; node adds none of its own. */
const SOCKET_PATH_BYTES_MAX = 100;

export function placeSocket(home: string, environment: Environment): string {
  const here = join(home, "agent.sock");
  if (Buffer.byteLength(here) <= SOCKET_PATH_BYTES_MAX) return here;
  const digest = createHash("sha256").update(home).digest("hex").slice(0, 16);
  const user = process.getuid?.() ?? 0;
  for (const base of [environment["XDG_RUNTIME_DIR"], tmpdir()]) {
    if (!base?.startsWith("/")) continue;
    const folder = join(base, `runnel-${user}-${digest}`);
    const path = join(folder, "agent.sock");
    if (Buffer.byteLength(path) > SOCKET_PATH_BYTES_MAX) continue;
    if (claimRuntimeFolder(folder, user)) return path;
  }
  throw new RunnelError(
    "Denied",
    "place the control socket",
    `The path ${here} is too long for a socket. Set RUNNEL_HOME to a shorter path.`,
  );
}

/**
 * The folder above may be open to everyone, so another user could have made ours first: then it is not ours, and left
 * alone.
 */
function claimRuntimeFolder(folder: string, user: number): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") return false;
  }
  const stat = lstatSync(folder);
  return stat.isDirectory() && stat.uid === user && (stat.mode & 0o077) === 0;
}
