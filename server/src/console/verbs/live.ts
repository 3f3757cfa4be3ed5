// Shows an admin what goes on now: who is connected, what is open, who waits for whom, what moves. A page asks again
// and again, which is one entry a minute in the audit log.
import { z } from "zod";
import { ConnectionRow, LeaseRow, OpenFileRow, RecallRow, RowsAsked, TransferRow } from "../../live/rows.ts";
import { type Caller, type ConsoleDeps, consoleVerb } from "../console-verb.ts";

/** Key to go on after; null: these were the last. */
const after = z.string().nullable();

export const connections = consoleVerb(
  { asks: RowsAsked, gives: z.object({ connections: z.array(ConnectionRow), after }) },
  {
    role: "admin",
    async handle(deps, request, caller) {
      noteLook(deps, caller);
      const page = deps.engines.live.connections(request);
      return { connections: page.rows, after: page.after };
    },
  },
);

export const openFiles = consoleVerb(
  { asks: RowsAsked, gives: z.object({ openFiles: z.array(OpenFileRow), after }) },
  {
    role: "admin",
    async handle(deps, request, caller) {
      noteLook(deps, caller);
      const page = await deps.engines.live.openFiles(request);
      return { openFiles: page.rows, after: page.after };
    },
  },
);

export const leases = consoleVerb(
  {
    asks: RowsAsked,
    /** `recalls`: changes that wait for a holder now, those that wait longest first. */
    gives: z.object({ leases: z.array(LeaseRow), after, recalls: z.array(RecallRow) }),
  },
  {
    role: "admin",
    async handle(deps, request, caller) {
      noteLook(deps, caller);
      const page = deps.engines.live.leases(request);
      return { leases: page.rows, after: page.after, recalls: await deps.engines.live.recalls() };
    },
  },
);

export const transfers = consoleVerb(
  { asks: RowsAsked, gives: z.object({ transfers: z.array(TransferRow), after }) },
  {
    role: "admin",
    async handle(deps, request, caller) {
      noteLook(deps, caller);
      const page = await deps.engines.live.transfers(request);
      return { transfers: page.rows, after: page.after };
    },
  },
);

/** Ends a connection; its client may connect again. */
export const disconnect = consoleVerb(
  { asks: z.object({ connection: z.string().max(20) }), gives: z.object({ connection: z.string() }) },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, { connection }, { actor }) {
      await engines.live.disconnect(actor, connection);
      return { connection };
    },
  },
);

function noteLook({ security }: ConsoleDeps, { actor }: Caller): void {
  security.audit.note({ who: actor, act: "live", result: "done" });
}
