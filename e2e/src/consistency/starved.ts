// Whether one client that goes on asking for its lease and never acknowledges can hold up the others for ever (WIRE: Feed, lease, close-to-open); and whether one
// that is slow takes its own delay for the silence of its server.
import { type Call, isChange } from "./history.ts";

/** EIO, EROFS: what an agent answers with that cannot reach its server. */
const OFFLINE_ERRNOS: ReadonlySet<number> = new Set([5, 30]);

/** A sentence for each call of the others that has ended and that `client` delayed when its lease must have run out. */
export function starvedBy(client: string, all: readonly Call[], termMs: number): string[] {
  const calls = all.filter((call) => call.client !== client);
  const first = calls.find(({ outcome, kind }) => outcome === "ok" && isChange(kind));
  // One term until the first change was to be acknowledged, one more until the lease has run out.
  const fromMs = (first?.endedMs ?? Infinity) + 2 * termMs;
  return calls.flatMap(({ client: whose, kind, path, beganMs, endedMs, heldMs = 0 }) => {
    const tookMs = endedMs - beganMs - heldMs;
    if (beganMs < fromMs || tookMs <= termMs / 2 || endedMs === Infinity) return [];
    return [`starved: ${whose} ${kind} ${path} took ${Math.round(tookMs)} ms behind one that never acknowledges`];
  });
}

/** A sentence for each call that failed as without a server, where lines and server were well all the time and an agent was slow. */
export function givenUp(calls: readonly Call[]): string[] {
  return calls.flatMap(({ client, kind, path, errno = 0, beganMs, wasOffline }) =>
    OFFLINE_ERRNOS.has(errno) || wasOffline
      ? [`given up: ${client} ${kind} ${path} at ${Math.round(beganMs)}, errno ${errno}, though the server was well`]
      : [],
  );
}
