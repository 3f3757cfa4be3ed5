// Pages in a browser: how one is let in, what it is answered over HTTP, and its calls. Apart from the rest, so that
// whoever shows none loads nothing of it.
export type { Context as PageContext, Hono as PageRoutes } from "hono";
export type { Download } from "./downloads.ts";
export { LocalPages, type OpenedPage, type Pages } from "./local-pages.ts";
export { addressOf } from "./page-address.ts";
export { PAGE_LIMITS } from "./page-limits.ts";
export { type EnteredPage, PAGE_PROTOCOL, PageCalls, type PageRefusal } from "./page-calls.ts";
export { PageSessions, type SessionTable } from "./page-sessions.ts";
export { SecurePages, type SecurePagesSettings } from "./secure-pages.ts";
export type { PagePlace } from "./request-guard.ts";
export { jsonOf } from "./request-body.ts";
export { Tickets } from "./tickets.ts";
export { TokenTable } from "./tokens.ts";
