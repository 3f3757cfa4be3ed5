// A TCP connection through an HTTP proxy (CONNECT, RFC 9110 §9.3.6).
import { type ClientRequest, type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import { getProxyForUrl } from "proxy-from-env";
import { RunnelError } from "../../errors.ts";
import { lookup } from "./host-lookup.ts";
import { type ServerAddress, isLoopback, placeOf } from "./server-address.ts";
import { systemAuthorities } from "./server-trust.ts";

const HTTP_OK = 200;
const HTTP_PROXY_SIGN_IN = 407;

/** The proxy to go through; undefined for none. @throws RunnelError Invalid for one that is not http or https. */
export function proxyFor(address: ServerAddress, asked: string | undefined): URL | undefined {
  if (asked === "direct" || (asked === undefined && isLoopback(address.host))) return undefined;
  const chosen = asked ?? getProxyForUrl(`https://${placeOf(address)}/`);
  return chosen === "" ? undefined : parseProxy(chosen);
}

/** @throws RunnelError Invalid */
export function parseProxy(typed: string): URL {
  const url = URL.parse(typed);
  if (url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "") return url;
  // The typed text may hold a password, so the error does not repeat it.
  throw new RunnelError("Invalid", "dial", "That is not the address of a proxy. Write http://HOST:PORT.");
}

/**
 * `stepped`: the proxy was reached, its answer is the next step. @throws RunnelError Unreachable; Denied when the proxy
 * lets nobody through to there.
 */
export async function openTunnel(
  proxy: URL,
  address: ServerAddress,
  signal: AbortSignal,
  stepped: () => void,
): Promise<Socket> {
  const place = placeOf(address);
  const shown = proxy.host;
  const request = connectRequest(proxy, place, signal);
  const { response, socket } = await new Promise<{ response: IncomingMessage; socket: Socket }>((resolve, reject) => {
    request.once("connect", (answer, connected, head) => {
      if (head.length > 0) connected.unshift(head);
      resolve({ response: answer, socket: connected as Socket });
    });
    // Some proxies answer a CONNECT that they refuse like any request.
    request.once("response", (answer) => resolve({ response: answer, socket: answer.socket }));
    request.once("error", (cause) => reject(cannotReach(shown, cause)));
    request.once("socket", (below) => void below.once("connect", stepped));
    request.end();
  });
  if (response.statusCode === HTTP_OK) return socket;
  socket.destroy();
  throw refusal(shown, place, response);
}

function connectRequest(proxy: URL, place: string, signal: AbortSignal): ClientRequest {
  const isSecure = proxy.protocol === "https:";
  const user = `${unescaped(proxy.username)}:${unescaped(proxy.password)}`;
  const credentials = user === ":" ? {} : { "Proxy-Authorization": `Basic ${Buffer.from(user).toString("base64")}` };
  const options = {
    method: "CONNECT",
    host: proxy.hostname.replaceAll(/[[\]]/g, ""),
    port: proxy.port === "" ? undefined : Number(proxy.port),
    path: place,
    headers: { Host: place, ...credentials },
    agent: false,
    lookup,
    signal,
  } as const;
  return isSecure ? secureRequest({ ...options, ca: systemAuthorities() }) : plainRequest(options);
}

/** People also type a password with a "%" as it is. */
function unescaped(text: string): string {
  return text.replaceAll(/(%[\da-f]{2})+/gi, (bytes) => {
    try {
      return decodeURIComponent(bytes);
    } catch {
      return bytes;
    }
  });
}

function refusal(proxy: string, place: string, { statusCode, statusMessage }: IncomingMessage): RunnelError {
  const sentence =
    statusCode === HTTP_PROXY_SIGN_IN
      ? `The proxy ${proxy} wants to know who you are: give it as http://USER:PASSWORD@HOST:PORT.`
      : `The proxy ${proxy} lets nobody through to ${place} (HTTP ${statusCode} ${statusMessage}): ask whoever runs it.`;
  return new RunnelError(statusCode === HTTP_PROXY_SIGN_IN ? "Denied" : "Unreachable", "dial", sentence);
}

function cannotReach(proxy: string, cause: Error): RunnelError {
  const code = (cause as { code?: unknown }).code;
  const why = code === "ECONNREFUSED" ? "nothing listens there" : cause.message || String(code);
  return new RunnelError("Unreachable", "dial", `Cannot reach the proxy at ${proxy}: ${why}.`, { cause });
}
