// Where WebSockets are accepted: with TLS 1.3 anywhere, without it for programs of this machine only (W50).
import { type IncomingMessage, type Server, createServer as createPlainServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { Socket } from "node:net";
import { WebSocketServer } from "ws";
import { RunnelError, fromSystemError } from "../errors.ts";
import { LIMITS, TIMING } from "../limits.ts";
import { Crowd } from "./crowd.ts";
import type { Acceptor, Link, Listener } from "./link.ts";
import { isLoopback } from "./server-address.ts";
import { HTTP_UPGRADE_REQUIRED, SOCKET_OPTIONS, WIRE_PATH, WIRE_SUBPROTOCOL, WsLink } from "./ws-link.ts";

const CLOSE_GOING_AWAY = 1001;
const HTTP_FORBIDDEN = 403;
/** Who has sent no whole request by then is looked for so often. */
const LOOK_MS = 1_000;

/** PEM. */
export interface TlsIdentity {
  key: string;
  /** With the chain that leads to its authority, if it has one. */
  certificate: string;
}

/** How many connections there may be at once: in all, and of those that have asked for nothing yet. */
export interface Room {
  connections: number;
  unopened: number;
}

export class WsAcceptor implements Acceptor {
  readonly #identity: TlsIdentity | undefined;
  readonly #room: Room;

  /** Without an identity it is plain ws. */
  constructor(identity?: TlsIdentity, room: Partial<Room> = {}) {
    this.#identity = identity;
    this.#room = { connections: LIMITS.connections, unopened: LIMITS.unopened, ...room };
  }

  async listen(host: string, port: number, accept: (link: Link) => void): Promise<Listener> {
    if (this.#identity === undefined && !isLoopback(host)) {
      const sentence = `Runnel serves others with TLS only, and ${host} is open to other machines: serve wss there.`;
      throw new RunnelError("Denied", "listen", sentence);
    }
    const http = createServer(this.#identity);
    http.maxConnections = this.#room.connections;
    const carriers = tcpBelow(http, new Crowd(this.#room.unopened));
    const server = new WebSocketServer({
      ...SOCKET_OPTIONS,
      server: http,
      path: WIRE_PATH,
      verifyClient: ({ req }, answer) => {
        const fault = faultOf(req, this.#identity !== undefined);
        answer(fault === undefined, fault?.status, fault?.words);
      },
      handleProtocols: () => WIRE_SUBPROTOCOL,
    });
    server.on("error", () => undefined); // told by the HTTP server
    server.on("connection", (socket, { socket: stream }) => {
      const { tcp = stream, opened } = carriers.get(endsOf(stream)) ?? {};
      opened?.();
      accept(new WsLink(socket, { stream, tcp }, false));
    });
    await new Promise<void>((resolve, reject) => {
      http.once("error", (error) => reject(cannotListen(host, port, error)));
      http.listen(port, host, resolve);
    });
    return listenerOf(http, server);
  }
}

/** Who opens a connection and says nothing is gone after strangerMs. */
function createServer(identity: TlsIdentity | undefined): Server {
  const patience = {
    headersTimeout: TIMING.strangerMs,
    requestTimeout: TIMING.strangerMs,
    connectionsCheckingInterval: LOOK_MS,
  };
  const http =
    identity === undefined
      ? createPlainServer(patience)
      : createSecureServer({
          ...patience,
          key: identity.key,
          cert: identity.certificate,
          minVersion: "TLSv1.3",
          ALPNProtocols: ["http/1.1"],
          handshakeTimeout: TIMING.strangerMs,
        });
  http.on("request", (_request, response) => {
    response.writeHead(HTTP_UPGRADE_REQUIRED, { Connection: "close" });
    response.end("Here is a Runnel server; it speaks WebSocket.\n");
  });
  // A handshake that failed is the other side's affair.
  http.on("tlsClientError", (_error: Error, socket: Socket) => void socket.destroy());
  return http;
}

/** A TLS socket of a server does not say which TCP connection is below it: both know the two ends. `opened`: it asks, and is one of the crowd no more. */
function tcpBelow(http: Server, crowd: Crowd): Map<string, { tcp: Socket; opened: () => void }> {
  const carriers = new Map<string, { tcp: Socket; opened: () => void }>();
  http.on("connection", (tcp: Socket) => {
    const ends = endsOf(tcp);
    const opened = crowd.enter(tcp.remoteAddress ?? "", () => tcp.destroy());
    carriers.set(ends, { tcp, opened });
    tcp.once("close", () => {
      opened();
      carriers.delete(ends);
    });
  });
  return carriers;
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function listenerOf(http: Server, server: WebSocketServer): Listener {
  const address = http.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: async () => {
      for (const socket of server.clients) {
        if (socket.isPaused) socket.resume();
        socket.close(CLOSE_GOING_AWAY, "The server stops.");
      }
      const closed = new Promise<void>((resolve) => {
        http.close(() => resolve());
      });
      server.close();
      http.closeIdleConnections();
      await closed;
    },
  };
}

/** Why an opening request is refused; undefined when it is not. */
function faultOf({ headers }: IncomingMessage, isSecure: boolean): { status: number; words: string } | undefined {
  // Only browsers send it: no page may talk to the wire of the machine it is shown on.
  if (headers.origin !== undefined) return { status: HTTP_FORBIDDEN, words: "The wire is not for web pages." };
  // Plain ws lets everyone of this machine in, and so nobody whom a proxy on it brings from elsewhere, whatever it says of him.
  if (!isSecure && !Object.keys(headers).every((name) => PLAIN_HEADERS.test(name)))
    return { status: HTTP_FORBIDDEN, words: "Plain ws is for programs of this machine: put the proxy before wss." };
  // A name that a page has had bound to this machine.
  if (!isSecure && !isLoopback((headers.host ?? "").replace(/:\d+$/, "")))
    return { status: HTTP_FORBIDDEN, words: "Plain ws is spoken with localhost, 127.0.0.1 or [::1]." };
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((word) => word.trim());
  if (offered.includes(WIRE_SUBPROTOCOL)) return undefined;
  return { status: HTTP_UPGRADE_REQUIRED, words: `This server speaks the subprotocol ${WIRE_SUBPROTOCOL}.` };
}

/** What an opening request of a program needs (RFC 6455 §4.1), and what libraries add. */
const PLAIN_HEADERS =
  /^(host|connection|upgrade|user-agent|accept|accept-encoding|pragma|cache-control|sec-websocket-(key|version|protocol|extensions))$/;

function cannotListen(host: string, port: number, cause: Error): RunnelError {
  const code = (cause as { code?: unknown }).code;
  if (code === "EADDRINUSE") {
    const sentence = `Port ${port} on ${host} is in use by another program: choose another port, or stop that program.`;
    return new RunnelError("Busy", "listen", sentence, { cause });
  }
  if (code === "EACCES") {
    return new RunnelError("Denied", "listen", `Port ${port} needs more rights: choose one above 1023.`, { cause });
  }
  return fromSystemError(cause, "listen");
}
