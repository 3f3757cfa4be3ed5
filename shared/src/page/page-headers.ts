// Headers of every answer to a page. There is none of CORS, ever: no other site reads anything here.
import type { PagePlace } from "./request-guard.ts";

/** `host`: Host that the page came from; left out when it is none that pages have. */
export function pageHeaders({ isSecure }: Pick<PagePlace, "isSecure">, host?: string): Record<string, string> {
  return {
    "Content-Security-Policy": [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "font-src 'self'",
      "manifest-src 'self'",
      // Some browsers do not count a WebSocket of the same place as 'self'.
      host === undefined ? "connect-src 'self'" : `connect-src 'self' ${isSecure ? "wss" : "ws"}://${host}`,
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join("; "),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
  };
}
