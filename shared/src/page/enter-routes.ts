// The way into a local page: the exchange of a ticket for a page session, from the file that a browser was started with
// or from a link.
import type { Hono } from "hono";
import { z } from "zod";
import { RunnelError } from "../errors.ts";
import { ENTER_SCRIPT, enterPage } from "./fixed-pages.ts";
import { bodyOf, JSON_TYPE } from "./request-body.ts";
import { ENTER_PATH } from "./request-guard.ts";

const FORM = "application/x-www-form-urlencoded";

const EnterRequest = z.strictObject({ ticket: z.string() });

/** `enter` gives the token of a page session for a ticket. It throws RunnelError Denied, Busy. */
export function addEnterRoutes(app: Hono, enter: (ticket: string) => string): void {
  app.post(ENTER_PATH, async (context) => {
    const text = await bodyOf(context.req.raw);
    const isFile = context.req.header("origin") === "null";
    const type = isFile ? FORM : JSON_TYPE;
    if (context.req.header("content-type")?.split(";", 1)[0] !== type)
      return context.text(`Send the ticket as ${type}.\n`, 415);
    const session = enter(isFile ? (new URLSearchParams(text).get("ticket") ?? "") : ticketOf(text));
    return isFile ? context.html(enterPage(session)) : context.json({ session });
  });
  app.get(`${ENTER_PATH}.js`, (context) =>
    context.body(ENTER_SCRIPT, 200, { "Content-Type": "text/javascript; charset=utf-8" }),
  );
}

/** @throws RunnelError Invalid */
function ticketOf(text: string): string {
  try {
    return EnterRequest.parse(JSON.parse(text)).ticket;
  } catch (cause) {
    throw new RunnelError("Invalid", "open a page", 'The request is not {"ticket": …}.', { cause });
  }
}
