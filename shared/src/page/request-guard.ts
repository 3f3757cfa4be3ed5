// Judges where a request comes from, before anything of it is answered: pages of other sites, and names that somebody
// has bound to this machine, have no part in it. A browser cannot be made to lie about Host, Origin and Sec-Fetch-Site
// by the pages that it shows.
import type { IncomingHttpHeaders } from "node:http";

export const ENTER_PATH = "/enter";

export interface Fault {
  status: number;
  sentence: string;
}

export interface RequestHead {
  method?: string | undefined;
  url?: string | undefined;
  headers: IncomingHttpHeaders;
}

/** Place where pages are shown. */
export interface PagePlace {
  isSecure: boolean;
  /** The Host of a request is one under which pages are shown. */
  hasHost(host: string): boolean;
}

/** The only address that a page on this machine's loopback has. */
export function hostOf(port: number): string {
  return `127.0.0.1:${port}`;
}

export function loopbackPlace(port: number): PagePlace {
  return { isSecure: false, hasHost: (host) => host === hostOf(port) };
}

/** @returns undefined when the request may be answered. */
export function requestFault(
  { method, url, headers }: RequestHead,
  { isSecure, hasHost }: PagePlace,
  isUpgrade: boolean,
): Fault | undefined {
  const { host, origin, "sec-fetch-site": site } = headers;
  if (host === undefined || !hasHost(host)) return { status: 421, sentence: "Runnel has no pages at this address." };
  // The file that a browser is started with has no origin, and so no site. Its ticket says that it is ours.
  if (!isSecure && method === "POST" && url === ENTER_PATH && origin === "null") return undefined;
  const mayLackOrigin = !isUpgrade && (method === "GET" || method === "HEAD");
  const isOwn = origin === undefined ? mayLackOrigin : origin === `${isSecure ? "https" : "http"}://${host}`;
  if (isOwn && (site === undefined || site === "same-origin" || site === "none")) return undefined;
  return { status: 403, sentence: "Runnel answers its own pages only." };
}
