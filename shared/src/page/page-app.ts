// Answers a page's HTTP: the built files, downloads, and how somebody comes in (enter-routes.ts, or the console's own).
// Where a request comes from was judged before (request-guard.ts), and calls are not made here (page-door.ts).
import { type ErrorKind, RunnelError } from "../errors.ts";
import { type Context, Hono } from "hono";
import { attachment, type Download } from "./downloads.ts";
import { NOT_BUILT, NOT_FOUND } from "./fixed-pages.ts";
import { addressOf } from "./page-address.ts";
import { pageHeaders } from "./page-headers.ts";
import { JSON_TYPE } from "./request-body.ts";

export interface PageAppDeps {
  /** Pages are shown over TLS. */
  isSecure: boolean;
  /** A built file by its path. @returns undefined when there is none. */
  readFile(path: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** Adds the ways in. */
  addRoutes(app: Hono): void;
  /** Download that a ticket lets fetch, for who asks from an address. @throws RunnelError Denied, Busy */
  download(ticket: string, address: string): Download;
  problem?(error: unknown): void;
}

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  webmanifest: "application/manifest+json",
  woff2: "font/woff2",
};

/** A name with a hash of the content in it, as the bundler makes it: what it names never changes. */
const HASHED = /^\/assets\/.*-[\w-]{8,}\.\w+$/;
const FOREVER = "public, max-age=31536000, immutable";

const STATUS: Partial<Record<ErrorKind, 400 | 403 | 413 | 429>> = {
  Invalid: 400,
  Denied: 403,
  TooLarge: 413,
  Busy: 429,
};

export function pageApp({ isSecure, readFile, addRoutes, download, problem }: PageAppDeps): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    await next();
    const headers = { "Cache-Control": "no-store", ...pageHeaders({ isSecure }, context.req.header("host")) };
    for (const [name, value] of Object.entries(headers))
      if (!context.res.headers.has(name)) context.res.headers.set(name, value);
  });

  addRoutes(app);

  app.get("/files/:ticket", (context) => {
    // HEAD comes here too, and must not use the ticket up.
    if (context.req.method !== "GET") return context.text("A download is fetched with GET.\n", 405);
    const { name, type, content } = download(context.req.param("ticket"), addressOf(context));
    return new Response(ReadableStream.from(content()), {
      headers: { "Content-Type": type, "Content-Disposition": attachment(name) },
    });
  });

  app.get("*", async (context) => {
    const { path } = context.req;
    const isRoute = !path.slice(path.lastIndexOf("/")).includes(".");
    const bytes = await readFile(isRoute ? "/index.html" : path);
    if (bytes === undefined) return isRoute ? context.text(NOT_BUILT, 503) : context.html(NOT_FOUND, 404);
    const type = isRoute ? TYPES["html"] : TYPES[path.slice(path.lastIndexOf(".") + 1)];
    return new Response(bytes, {
      headers: {
        "Content-Type": type ?? "application/octet-stream",
        "Content-Length": String(bytes.length),
        "Cache-Control": HASHED.test(path) ? FOREVER : "no-cache",
      },
    });
  });
  app.notFound((context) => context.text("Nothing is asked for in this way.\n", 405));
  app.onError((error, context) => refusal(error, context, problem));
  return app;
}

/** An object where one was sent; a sentence where a person sees it. */
function refusal(error: Error, context: Context, problem: PageAppDeps["problem"]): Response {
  const known = error instanceof RunnelError ? error : undefined;
  if (known === undefined) problem?.(error);
  const { kind, message, detail } =
    known ?? new RunnelError("Io", "answer a page", "Something went wrong here. Try again.");
  if (detail.retryAfterMs !== undefined) context.header("Retry-After", String(Math.ceil(detail.retryAfterMs / 1000)));
  const status = STATUS[kind] ?? 500;
  if (context.req.header("content-type")?.startsWith(JSON_TYPE))
    return context.json({ error: { kind, message } }, status);
  return context.text(`${message}\n`, status);
}
