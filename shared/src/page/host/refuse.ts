// Refusals of requests and upgrades that are judged before anything of them is answered.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { pageHeaders } from "../page-headers.ts";
import type { Fault, PagePlace } from "../request-guard.ts";

/** Path at which a page makes calls. */
const CALLS_PATH = "/calls";

/** Answers with a sentence; the rest of the request is not read. */
export function refuse(response: ServerResponse, { status, sentence }: Fault, place: PagePlace): void {
  const { host } = response.req.headers;
  response.writeHead(status, {
    ...pageHeaders(place, host !== undefined && place.hasHost(host) ? host : undefined),
    "Content-Type": "text/plain; charset=utf-8",
    Connection: "close",
  });
  response.end(`${sentence}\n`);
}

export function pathFault({ url }: IncomingMessage): Fault | undefined {
  return url === CALLS_PATH ? undefined : { status: 404, sentence: `Calls are made at ${CALLS_PATH}.` };
}

export function refuseUpgrade(stream: Duplex, { status, sentence }: Fault): void {
  stream.on("error", () => undefined);
  stream.once("finish", () => stream.destroy());
  const head = `HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n`;
  stream.end(`${head}Content-Length: ${Buffer.byteLength(sentence) + 1}\r\n\r\n${sentence}\n`);
}
