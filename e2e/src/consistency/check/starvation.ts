// Checks that a client which goes on asking for its lease and never acknowledges cannot hold up the others for ever
// ([W18]), and that a slow one does not take its own delay for the silence of its server ([W131]).
import { type Call, isChange } from "./history.ts";
import { sizeOf } from "./truth.ts";

/** EIO, EROFS: what an agent answers with that cannot reach its server. */
const OFFLINE_ERRNOS: ReadonlySet<number> = new Set([5, 30]);
/** The errno that a kernel passes on when it was sent back twice. */
const ESTALE = 116;
/** Content that a program reads or writes in a millisecond at the least: each part of it may be a round trip. */
const BYTES_PER_MS = 500;

/** A sentence for each call of the others that has ended and that `client` delayed when its lease must have run out. */
export function starvedBy(client: string, all: readonly Call[], termMs: number): string[] {
  const calls = all.filter((call) => call.client !== client);
  const first = calls.find(({ outcome, kind }) => outcome === "ok" && isChange(kind));
  // A term until the first change was to be acknowledged, and another until the lease has run out.
  const fromMs = (first?.endedMs ?? Infinity) + 2 * termMs;
  return calls.flatMap(({ client: whose, kind, path, beganMs, endedMs, content, heldMs = 0 }) => {
    const bytes = content?.includes(":") === true ? sizeOf(content) : 0;
    const tookMs = endedMs - beganMs - heldMs - bytes / BYTES_PER_MS;
    if (beganMs < fromMs || tookMs <= termMs / 2 || endedMs === Infinity) return [];
    return [`starved: ${whose} ${kind} ${path} took ${Math.round(tookMs)} ms behind one that never acknowledges`];
  });
}

/**
 * A sentence for each call that failed as without a server, where lines and server were well all the time and an agent
 * was slow.
 */
export function givenUp(calls: readonly Call[]): string[] {
  return calls.flatMap((call) => {
    const { client, kind, path, errno = 0, beganMs, wasOffline } = call;
    const isStale = errno === ESTALE && !isMadeAgain(call);
    return OFFLINE_ERRNOS.has(errno) || isStale || wasOffline
      ? [`given up: ${client} ${kind} ${path} at ${Math.round(beganMs)}, errno ${errno}, though the server was well`]
      : [];
  });
}

/**
 * ESTALE of open(O_CREAT): the file has gone, and when the kernel looked once more and was to make it, another one was
 * there again.
 */
export function isMadeAgain({ kind, errno }: Pick<Call, "kind" | "errno">): boolean {
  return errno === ESTALE && kind === "write";
}
