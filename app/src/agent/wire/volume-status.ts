// Asks the server for the status of a mounted volume.
import { STATUS_ITEM, check, checkResult } from "@runnel/shared";
import type { StatusEntry } from "@runnel/shared";
import type { MountStatus, ServerStatus } from "../mount-status.ts";
import type { Session } from "./session.ts";

export interface AskedStatus {
  server: ServerStatus;
  /** Conflicts between clients. */
  conflicts: MountStatus["conflicts"];
}

/**
 * Asks with a timeout of its own: that nothing comes makes no drive offline. @throws Unreachable at once while offline,
 * else after a silence; Unsupported by a server that cannot tell.
 */
export async function askVolumeStatus(session: Session): Promise<AskedStatus> {
  session.mustRespond();
  const channel = session.open("status", {}, true);
  const entries: StatusEntry[] = [];
  try {
    const next = (): Promise<unknown> => session.aside(channel.next(), "status");
    for (let item = await next(); item !== undefined; item = await next()) {
      entries.push(...check(STATUS_ITEM, item, "status item"));
    }
    const end = checkResult("status", await session.aside(channel.result(), "status"));
    const of = <Kind extends StatusEntry["kind"]>(kind: Kind): Extract<StatusEntry, { kind: Kind }>[] =>
      entries.filter((entry): entry is Extract<StatusEntry, { kind: Kind }> => entry.kind === kind);
    const server = {
      seq: end.seq,
      pending: end.pending,
      stuck: end.stuck ?? null,
      scan: end.scan === undefined ? null : { ...end.scan, stuck: end.scan.stuck ?? null },
      conflicts: of("conflict").map(({ path, conflictCopy, atMs }) => ({ path, conflictCopy, atMs })),
      incomplete: of("incomplete").map(({ kind: _kind, ...rest }) => rest),
      lost: of("lost").map(({ path, versions, atMs }) => ({ path, versions, atMs })),
      destroyed: of("destroyed").map(({ path, seq, atMs }) => ({ path, seq, atMs })),
      missing: of("missing").map(({ path, seq, atMs }) => ({ path, seq, atMs })),
      salvaged: of("salvaged").map(({ changes, atMs }) => ({ changes, atMs })),
      excluded: { count: end.excluded, paths: of("excluded").map(({ path }) => path) },
    };
    const conflicts = of("clientConflict").map(({ path, seq, conflictCopy = null, by, atMs }) => {
      return { path, seq, conflictCopy, by, atMs };
    });
    return { server, conflicts };
  } finally {
    channel.cancel();
  }
}
