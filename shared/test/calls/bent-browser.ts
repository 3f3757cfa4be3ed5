// A bent browser for the tests of pages: it says of itself what it likes, as a browser would not let a page.
import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import { request as secureRequest } from "node:https";
import { WebSocket } from "ws";

export type { WebSocket } from "ws";

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface Asked {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
  /** Sends no length before the body. */
  isChunked?: boolean;
  /** Asks over TLS, and takes any certificate. */
  isSecure?: boolean;
}

/** Sends one request with exactly these headers, besides the right Host. */
export async function ask(
  port: number,
  path: string,
  { method = "GET", headers = {}, body, isChunked, isSecure = false }: Asked = {},
): Promise<Answer> {
  const sent = (isSecure ? secureRequest : request)({
    rejectUnauthorized: false,
    host: "127.0.0.1",
    port,
    path,
    method,
    agent: false,
    headers: {
      host: `127.0.0.1:${port}`,
      ...(body === undefined || isChunked ? {} : { "content-length": String(Buffer.byteLength(body)) }),
      ...headers,
    },
  });
  const answered = once(sent, "response");
  // An answer may come before all of a body was taken.
  sent.on("error", () => undefined);
  if (body !== undefined) sent.write(body);
  sent.end();
  const [response] = (await answered) as [IncomingMessage];
  let text = "";
  for await (const bytes of response) text += (bytes as Buffer).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** Header that the page at this address sends with all that is not a plain GET. */
export function ownOrigin(port: number): { origin: string } {
  return { origin: `http://127.0.0.1:${port}` };
}

/** Enters as the built page does. */
export function enterByLink(port: number, ticket: string): Promise<Answer> {
  return ask(port, "/enter", {
    method: "POST",
    headers: { ...ownOrigin(port), "content-type": "application/json" },
    body: JSON.stringify({ ticket }),
  });
}

/** Enters as the file does that a browser is started with. */
export function enterByFile(port: number, ticket: string): Promise<Answer> {
  return ask(port, "/enter", {
    method: "POST",
    headers: { origin: "null", "sec-fetch-site": "cross-site", "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ ticket }).toString(),
  });
}

/** Dials, and resolves with the status that refused it, or with 101. */
export async function dial(
  port: number,
  headers: Record<string, string> = ownOrigin(port),
  path = "/calls",
  isSecure = false,
): Promise<{ status: number; socket: WebSocket }> {
  const socket = new WebSocket(`${isSecure ? "wss" : "ws"}://127.0.0.1:${port}${path}`, {
    headers: { host: `127.0.0.1:${port}`, ...headers },
    rejectUnauthorized: false,
  });
  // Ended here, before it was opened.
  socket.on("error", () => undefined);
  const refused = new Promise<number>((done) => {
    socket.on("unexpected-response", (_sent, response) => {
      done(response.statusCode ?? 0);
      socket.terminate();
    });
  });
  const opened = new Promise<number>((done) => {
    socket.once("open", () => done(101));
  });
  const status = await Promise.race([refused, opened]);
  return { status, socket };
}

/** Resolves with the code of the close, and with what was said before. */
export async function untilClosed(socket: WebSocket): Promise<{ code: number; texts: string[] }> {
  const texts: string[] = [];
  socket.on("message", (data: Buffer) => texts.push(data.toString()));
  const [code] = (await once(socket, "close")) as [number];
  return { code, texts };
}
