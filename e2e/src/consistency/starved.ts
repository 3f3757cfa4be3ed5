// Whether one client that goes on asking for its lease and never acknowledges can hold up the others for ever (WIRE: Feed, lease, close-to-open).
import { type Call, isChange } from "./history.ts";

/** A sentence for each call of the others that has ended and that `client` delayed when its lease must have run out. */
export function starvedBy(client: string, all: readonly Call[], termMs: number): string[] {
  const calls = all.filter((call) => call.client !== client);
  const first = calls.find(({ outcome, kind }) => outcome === "ok" && isChange(kind));
  // One term until the first change was to be acknowledged, one more until the lease has run out.
  const fromMs = (first?.endedMs ?? Infinity) + 2 * termMs;
  return calls.flatMap(({ client: whose, kind, path, beganMs, endedMs }) => {
    const tookMs = endedMs - beganMs;
    if (beganMs < fromMs || tookMs <= termMs / 2 || endedMs === Infinity) return [];
    return [`starved: ${whose} ${kind} ${path} took ${Math.round(tookMs)} ms behind one that never acknowledges`];
  });
}
