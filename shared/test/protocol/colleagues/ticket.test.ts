// Tickets: the one of the document, and what is none.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "../../../src/limits.ts";
import { TicketKey, openTicket } from "../../../src/protocol/colleagues/ticket.ts";
import { blocksOf } from "../cddl.ts";

const DOCUMENT = readFileSync(join(import.meta.dirname, "../../../src/protocol/PROTOCOL.md"), "utf8");
const TICKET = { epoch: "e", version: { node: 5, seq: 7 }, key: new Uint8Array(32), untilMs: 1000 };

function seedOf(document: string): Uint8Array {
  const [, seed = ""] = /With the seed `([\w-]{43})`/.exec(document) ?? [];
  return new Uint8Array(Buffer.from(seed, "base64url"));
}

describe("a ticket", () => {
  const key = new TicketKey(seedOf(DOCUMENT));
  const ticket = key.sign(TICKET);

  test("[W197] is that of the document", () => {
    const [said = ""] = blocksOf(DOCUMENT, "ticket");
    expect(Buffer.from(ticket).toString("hex")).toBe(said.replaceAll(/\s/g, ""));
    expect(openTicket(ticket, key.publicKey)).toEqual(TICKET);
  });

  test("[W197] is none with a bit changed, wherever it is", () => {
    for (const at of ticket.keys()) {
      const other = ticket.with(at, (ticket[at] ?? 0) ^ 1);
      expect(() => openTicket(other, key.publicKey)).toThrow(expect.objectContaining({ kind: "Denied" }));
    }
  });

  test("[W197] is none of another key, or of no key", () => {
    const denied = expect.objectContaining({ kind: "Denied" });
    expect(() => openTicket(ticket, new TicketKey().publicKey)).toThrow(denied);
    expect(() => openTicket(ticket, new Uint8Array(31))).toThrow(denied);
  });

  test("[W197] [limit ticketBytes] is none that is short or long, whoever has signed it", () => {
    const denied = expect.objectContaining({ kind: "Denied" });
    expect(() => openTicket(ticket.subarray(0, 64), key.publicKey)).toThrow(denied);
    const long = key.sign({ ...TICKET, epoch: "e".repeat(LIMITS.ticketBytes) });
    expect(() => openTicket(long, key.publicKey)).toThrow(denied);
    const odd = key.sign({ ...TICKET, key: new Uint8Array(31) });
    expect(() => openTicket(odd, key.publicKey)).toThrow(denied);
  });
});
