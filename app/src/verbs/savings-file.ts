// savingsFile: the whole ledger of savings as a table that a browser saves. For pages.
import { z } from "zod";
import { csvPages } from "./savings.ts";
import { text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

const schemas = {
  asks: z.object({}),
  /** `ticket`: fetches the file from /files/TICKET, once, within a minute. */
  gives: z.object({ ticket: text }),
};

export const savingsFile = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent) {
    const ledger = await agent.history.ledger();
    function* content(): Generator<Uint8Array> {
      for (const csv of csvPages(ledger, 0)) yield Buffer.from(csv);
    }
    return {
      ticket: await agent.deps.pages.offer({ name: "runnel-savings.csv", type: "text/csv; charset=utf-8", content }),
    };
  },
});
