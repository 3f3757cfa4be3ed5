// Accepts WebSockets: with TLS 1.3 anywhere, without it for programs of this machine that prove whose they are (W50,
// W165).
import {
  type IncomingMessage,
  type Server as HttpServer,
  type ServerResponse,
  createServer as createPlainServer,
} from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { WebSocketServer } from "ws";
import { RunnelError } from "../errors.ts";
import { LIMITS, TIMING } from "../limits.ts";
import { Crowd } from "../admission/crowd.ts";
import { cannotListen } from "./cannot-listen.ts";
import { type Doors, frontDoor } from "./front-door.ts";
import type { Acceptor, Link, Listener } from "./link.ts";
import { NONCE_HEADER, PROOF_HEADER, meet } from "./local/local-proof.ts";
import { LocalSecrets } from "./local/local-secrets.ts";
import { isLoopback } from "./dial/server-address.ts";
import { fingerprintOf } from "./dial/server-trust.ts";
import type { TlsIdentity } from "./identity/tls-identity.ts";
import { HTTP_UPGRADE_REQUIRED, SOCKET_OPTIONS, WIRE_PATH, WIRE_SUBPROTOCOL, WsLink } from "./ws-link.ts";

const CLOSE_GOING_AWAY = 1001;
const HTTP_FORBIDDEN = 403;
/** Interval of the search for connections that have sent no whole request in time. */
const LOOK_MS = 1_000;
/** Interval in which the secret's file is made again if somebody has swept it away. */
const KEEP_EVERY_MS = 10_000;

/** Limits on the connections at once: on all, and on those that have asked for nothing yet. */
export interface Room {
  connections: number;
  unopened: number;
}

/** Callers that a port is for: programs of this user without TLS, other devices with it, or both. */
export interface Callers {
  /** Left out: nobody comes without TLS. */
  secrets?: LocalSecrets;
  /** Asked for while there is none; left out: nobody comes with TLS. */
  identity?(): TlsIdentity | undefined;
  /** Asks who comes with TLS for a certificate, whoever has signed it: its key tells one from another. */
  asksForKeys?: boolean;
  /** Answers browsers that come with TLS; undefined, or left out: they are told that there is no page. */
  pages?(): PageAnswers | undefined;
}

/** Answers what comes to the port and is not for the wire. */
export interface PageAnswers {
  request(request: IncomingMessage, response: ServerResponse): void;
  /** `owned` is to be called once it is known whose the connection is. */
  upgrade(request: IncomingMessage, stream: Duplex, head: Buffer, owned: () => void): void;
}

export class WsAcceptor implements Acceptor {
  readonly #callers: Callers;
  readonly #room: Room;

  /** Accepts programs of this user, unless something else is said. */
  constructor(callers: Callers = { secrets: LocalSecrets.ofUser() }, room: Partial<Room> = {}) {
    this.#callers = callers;
    this.#room = { connections: LIMITS.connections, unopened: LIMITS.unopened, ...room };
  }

  async listen(host: string, port: number, accept: (link: Link) => void): Promise<Listener> {
    const { secrets, pages } = this.#callers;
    if (secrets !== undefined && !isLoopback(host)) {
      const sentence = `Runnel serves others with TLS only, and ${host} is open to other machines: serve wss there.`;
      throw new RunnelError("Denied", "listen", sentence);
    }
    let secret = "";
    const proofs = new WeakMap<IncomingMessage, string>();
    const upgrades = new WebSocketServer({
      ...SOCKET_OPTIONS,
      noServer: true,
      path: WIRE_PATH,
      verifyClient,
      handleProtocols,
    });
    upgrades.on("headers", (headers, request) => {
      if (isSecure(request)) return;
      const { said, ownerProof } = meet(secret, request.headers[NONCE_HEADER.toLowerCase()]);
      proofs.set(request, ownerProof);
      if (said !== undefined) headers.push(`${PROOF_HEADER}: ${said}`);
    });
    const takesUpgrades = (door: HttpServer): HttpServer =>
      door.on("upgrade", (request: IncomingMessage, stream: Socket, head: Buffer) => {
        const answers = isSecure(request) && request.url !== WIRE_PATH ? pages?.() : undefined;
        if (answers !== undefined) {
          answers.upgrade(request, stream, head, () => front.below(stream).opened());
          return;
        }
        upgrades.handleUpgrade(request, stream, head, (socket) => {
          const { tcp, opened } = front.below(stream);
          opened();
          accept(
            new WsLink(socket, { stream, tcp }, false, { ownerProof: proofs.get(request), peerKey: keyOf(stream) }),
          );
        });
      });
    const front = frontDoor(this.#doors(takesUpgrades), new Crowd(this.#room.unopened));
    front.server.maxConnections = this.#room.connections;
    await new Promise<void>((resolve, reject) => {
      front.server.once("error", (error) => reject(cannotListen(host, port, error)));
      front.server.listen(port, host, resolve);
    });
    const place = front.server.address() as AddressInfo;
    try {
      secret = secrets?.keep(place) ?? "";
    } catch (error) {
      await front.close();
      throw error;
    }
    // The secret's folder goes with the user's last login, and old files with a sweep of temporary ones; the server may
    // stay.
    const keeping = setInterval(() => keepOn(secrets, place, secret), KEEP_EVERY_MS).unref();
    return {
      port: place.port,
      close: async () => {
        for (const socket of upgrades.clients) {
          if (socket.isPaused) socket.resume();
          socket.close(CLOSE_GOING_AWAY, "The server stops.");
        }
        clearInterval(keeping);
        upgrades.close();
        await front.close();
      },
    };
  }

  #doors(takesUpgrades: (door: HttpServer) => HttpServer): Doors {
    const { secrets, identity, pages, asksForKeys = false } = this.#callers;
    return {
      plain: secrets === undefined ? undefined : takesUpgrades(withTimeouts(createPlainServer(REQUEST_TIMEOUTS))),
      secure: () => {
        const known = identity?.();
        return known === undefined ? undefined : takesUpgrades(secureDoor(known, asksForKeys, pages));
      },
    };
  }
}

function keepOn(secrets: LocalSecrets | undefined, place: AddressInfo, secret: string): void {
  try {
    secrets?.keep(place, secret);
  } catch {
    // At the next time, if the place is there again.
  }
}

/** Closes a connection that is opened and stays silent after loginGraceMs. */
const REQUEST_TIMEOUTS = {
  headersTimeout: TIMING.loginGraceMs,
  requestTimeout: TIMING.loginGraceMs,
  connectionsCheckingInterval: LOOK_MS,
};

function secureDoor({ key, certificate }: TlsIdentity, asksForKeys: boolean, pages: Callers["pages"]): HttpServer {
  const door = createSecureServer({
    ...REQUEST_TIMEOUTS,
    ...(asksForKeys ? { requestCert: true, rejectUnauthorized: false } : {}),
    key,
    cert: certificate,
    minVersion: "TLSv1.3",
    ALPNProtocols: ["http/1.1"],
    handshakeTimeout: TIMING.loginGraceMs,
  });
  // A handshake that failed is the other side's affair.
  door.on("tlsClientError", (_error: Error, socket: Socket) => void socket.destroy());
  return withTimeouts(door, pages);
}

function withTimeouts(door: HttpServer, pages?: Callers["pages"]): HttpServer {
  door.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const answers = pages?.();
    if (answers !== undefined) {
      answers.request(request, response);
      return;
    }
    response.writeHead(HTTP_UPGRADE_REQUIRED, { Connection: "close" });
    response.end("Here is a Runnel server; it speaks WebSocket.\n");
  });
  // It is handed its connections; its timers begin as if it listened.
  door.emit("listening");
  return door;
}

/** Fingerprint of the key that a client has shown with TLS; undefined for one that was asked for none. */
function keyOf(stream: Duplex): Uint8Array | undefined {
  const certificate = stream instanceof TLSSocket ? stream.getPeerX509Certificate() : undefined;
  return certificate && new Uint8Array(Buffer.from(fingerprintOf(certificate), "base64url"));
}

function isSecure({ socket }: IncomingMessage): boolean {
  return socket instanceof TLSSocket;
}

function handleProtocols(): string {
  return WIRE_SUBPROTOCOL;
}

type Verify = (verified: boolean, status?: number, words?: string) => void;

function verifyClient({ req }: { req: IncomingMessage }, answer: Verify): void {
  const fault = faultOf(req, isSecure(req));
  answer(fault === undefined, fault?.status, fault?.words);
}

/** Why an opening request is refused; undefined when it is not. */
function faultOf({ headers }: IncomingMessage, hasTls: boolean): { status: number; words: string } | undefined {
  // Only browsers send it: no page may talk to the wire of the machine it is shown on.
  if (headers.origin !== undefined) return { status: HTTP_FORBIDDEN, words: "The wire is not for web pages." };
  // Plain ws is for programs of this machine, and so for nobody whom a proxy on it brings from elsewhere, whatever it
  // says of him.
  if (!hasTls && !Object.keys(headers).every((name) => PLAIN_HEADERS.test(name)))
    return { status: HTTP_FORBIDDEN, words: "Plain ws is for programs of this machine: put the proxy before wss." };
  // A name that a page has had bound to this machine.
  if (!hasTls && !isLoopback((headers.host ?? "").replace(/:\d+$/, "")))
    return { status: HTTP_FORBIDDEN, words: "Plain ws is spoken with localhost, 127.0.0.1 or [::1]." };
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((word) => word.trim());
  if (offered.includes(WIRE_SUBPROTOCOL)) return undefined;
  return { status: HTTP_UPGRADE_REQUIRED, words: `This server speaks the subprotocol ${WIRE_SUBPROTOCOL}.` };
}

/** Headers that an opening request of a program needs (RFC 6455 §4.1), and those that libraries add. */
const PLAIN_HEADERS =
  /^(host|connection|upgrade|user-agent|accept|accept-encoding|pragma|cache-control|runnel-nonce|sec-websocket-(key|version|protocol|extensions))$/;
