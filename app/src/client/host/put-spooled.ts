// Bytes that are no file become one for the agent to read: in the agent's home, for its user alone, until they are put.
// Two copies within a disk cost less than the same bytes as text through a socket (docs/transfer.md has the figures).
// oxlint-disable-next-line no-restricted-imports -- names of temporary files
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { RealClock, fromSystemError } from "@runnel/shared/base";
import { AgentHome } from "../../agent/control/index.ts";

const RANDOM_BYTES = 12;
/** A program that was killed leaves its file; no put takes so long. */
const ABANDONED_MS = 24 * 3_600_000;

/** Runs `put` with the path of a file of the stream's bytes, which is gone afterwards. */
export async function putSpooled<T>(
  stream: AsyncIterable<Uint8Array>,
  put: (path: string) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const folder = new AgentHome().spoolFolder;
  const path = join(folder, randomBytes(RANDOM_BYTES).toString("hex"));
  try {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await removeAbandoned(folder);
      const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
      await pipeline(Readable.from(stream, { objectMode: false }), file, { ...(signal && { signal }) });
    } catch (error) {
      signal?.throwIfAborted();
      throw fromSystemError(error, "put");
    }
    return await put(path);
  } finally {
    await rm(path, { force: true });
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  const nowMs = Number(new RealClock().wallNs() / 1_000_000n);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < nowMs - ABANDONED_MS) await rm(path, { force: true });
  }
}
