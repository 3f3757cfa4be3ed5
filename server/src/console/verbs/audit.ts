// The audit log: a page of it, and the whole as a table that a browser saves. For admins.
import { z } from "zod";
import { ACTS } from "../../admin/acts.ts";
import { ADMIN_REQUESTS, ADMIN_RESULTS } from "../../admin/messages.ts";
import { auditFilter } from "../../audit/audit-filter.ts";
import { consoleVerb } from "../console-verb.ts";

export const audit = consoleVerb(
  { asks: ADMIN_REQUESTS.audit, gives: ADMIN_RESULTS.audit },
  { role: "admin", handle: (deps, request, { actor }) => ACTS.audit(deps, actor, request) },
);

export const auditCsv = consoleVerb(
  {
    asks: auditFilter.omit({ after: true, above: true, limit: true }),
    /** `ticket`: fetches the file from /files/TICKET, once, within a minute. */
    gives: z.object({ ticket: z.string() }),
  },
  {
    role: "admin",
    async handle(deps, filter, { actor, offer }) {
      async function* content(): AsyncGenerator<Uint8Array> {
        let after: number | undefined;
        do {
          const page = await ACTS.auditCsv(deps, actor, after === undefined ? filter : { ...filter, after });
          yield Buffer.from(page.csv);
          after = page.after ?? undefined;
        } while (after !== undefined);
      }
      return { ticket: await offer({ name: "runnel-audit.csv", type: "text/csv; charset=utf-8", content }) };
    },
  },
);
