// Pages in a browser: how one is let in, what it is answered over HTTP, and its calls. Apart from the rest, so that
// whoever shows none loads nothing of it.
export type { Download } from "./downloads.ts";
export { LocalPages, type OpenedPage, type Pages } from "./local-pages.ts";
export { PAGE_LIMITS } from "./page-limits.ts";
export { PAGE_PROTOCOL } from "./page-calls.ts";
