// Links over WebSocket: the only file that knows `ws`. Plain ws, and so loopback only; the path is always /wire, the subprotocol
// runnel.1, without permessage-deflate. ws itself sets TCP_NODELAY.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type RawData, WebSocket, WebSocketServer } from "ws";
import { RunnelError, fromSystemError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { LinkInbox } from "./link-inbox.ts";
import type { Acceptor, Dialer, Link, LinkEvents, Listener } from "./link.ts";

export const WIRE_PATH = "/wire";
export const WIRE_SUBPROTOCOL = "runnel.1";

const CLOSE_GOING_AWAY = 1001;
const CLOSE_NOT_BINARY = 1003;
/** A close frame's payload is 125 bytes at most, two of them the code (RFC 6455 §5.5). */
const CLOSE_REASON_BYTES_MAX = 123;
/** First byte of a frame that is a whole binary message; bit of the second; bytes of a mask (RFC 6455 §5.2). */
const FINAL_BINARY = 0x82;
const MASKED = 0x80;
const MASK_BYTES = 4;
const HANDSHAKE_MS_MAX = 10_000;
/** How long a closed link waits for the other side's close frame. */
const CLOSE_MS_MAX = 2_000;
const WS_PORT = 80;
const HTTP_FORBIDDEN = 403;
/** RFC 9110 §15.5.22: another protocol would do. */
const HTTP_UPGRADE_REQUIRED = 426;

const SOCKET_OPTIONS = { perMessageDeflate: false, maxPayload: LIMITS.frameBytes, closeTimeout: CLOSE_MS_MAX } as const;

class WsLink implements Link {
  readonly #socket: WebSocket;
  readonly #inbox = new LinkInbox();
  #failure = "";
  #isGathering = false;

  readonly #carrier: Socket;
  /** Frames of clients are. */
  readonly #isMasking: boolean;

  constructor(socket: WebSocket, carrier: Socket, isMasking: boolean) {
    this.#socket = socket;
    this.#carrier = carrier;
    this.#isMasking = isMasking;
    // Until there is a receiver the other side is held back by TCP, not by memory here.
    socket.pause();
    socket.on("message", (data: RawData, isBinary: boolean) => {
      if (isBinary) this.#inbox.put(data as Buffer);
      else this.close(CLOSE_NOT_BINARY, "Runnel speaks binary messages only.");
    });
    socket.on("error", (error) => {
      this.#failure = error.message;
    });
    socket.on("close", (code, reason) => this.#inbox.end(code, reason.toString() || this.#failure));
  }

  listen(events: LinkEvents): void {
    this.#inbox.listen(events);
    if (this.#socket.readyState !== WebSocket.CLOSED) this.#socket.resume();
  }

  send(payload: Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    this.#gather();
    this.#socket.send(payload, { binary: true });
  }

  /** What is sent in one turn goes to the system in one call. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#carrier.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      this.#carrier.uncork();
    });
  }

  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    // ws would want one buffer. Without compression it keeps no queue of its own, so what is written beside it keeps its place.
    this.#gather();
    this.#carrier.write(encodeFrameHead(head, body.length, this.#isMasking));
    this.#carrier.write(body, () => gone());
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  get sentBytes(): number {
    return this.#carrier.bytesWritten;
  }

  get receivedBytes(): number {
    return this.#carrier.bytesRead;
  }

  /** The local side hears of it at once; what was sent before still goes out. */
  close(code: number, reason: string): void {
    if (this.#inbox.isEnded) return;
    this.#inbox.discard();
    this.#inbox.end(code, reason);
    // A paused socket would not read the other side's close frame.
    if (this.#socket.isPaused) this.#socket.resume();
    this.#socket.close(code, cutUtf8(reason, CLOSE_REASON_BYTES_MAX));
  }
}

/** The head of a whole binary message (RFC 6455 §5.2), its mask of zeros included, and the message's own first bytes behind it. */
function encodeFrameHead(first: Uint8Array, restBytes: number, isMasked: boolean): Uint8Array {
  const length = first.length + restBytes;
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const head = Buffer.alloc(2 + lengthBytes + (isMasked ? MASK_BYTES : 0) + first.length);
  head[0] = FINAL_BINARY;
  head[1] = (isMasked ? MASKED : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) head.writeUInt16BE(length, 2);
  else if (lengthBytes === 8) head.writeBigUInt64BE(BigInt(length), 2);
  head.set(first, head.length - first.length);
  return head;
}

export class WsDialer implements Dialer {
  dial(url: string, signal?: AbortSignal): Promise<Link> {
    const { host, port } = addressOf(url);
    const place = `${host}:${port}`;
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(interrupted(place));
        return;
      }
      const socket = new WebSocket(`ws://${place}${WIRE_PATH}`, WIRE_SUBPROTOCOL, {
        ...SOCKET_OPTIONS,
        handshakeTimeout: HANDSHAKE_MS_MAX,
        followRedirects: false,
        // Masks protect proxies from scripts in browsers (RFC 6455 §10.3); on loopback there are neither, and a zero mask is free.
        generateMask: (mask) => mask.fill(0),
      });
      const fail = (error: RunnelError): void => {
        signal?.removeEventListener("abort", abort);
        socket.on("error", () => {});
        socket.terminate();
        reject(error);
      };
      const abort = (): void => fail(interrupted(place));
      signal?.addEventListener("abort", abort);
      socket.once("error", (error) => fail(unreachable(place, error)));
      socket.once("unexpected-response", (_request, response) => {
        response.resume();
        fail(refused(place, response));
      });
      let carrier: Socket | undefined;
      socket.once("upgrade", (response) => {
        carrier = response.socket;
        // "localhost" is what the system's tables say; the rule is about where the bytes go.
        if (!isLoopback(response.socket.remoteAddress ?? "")) fail(notLoopback(host));
      });
      socket.once("open", () => {
        signal?.removeEventListener("abort", abort);
        socket.removeAllListeners();
        if (carrier !== undefined) resolve(new WsLink(socket, carrier, true));
      });
    });
  }
}

export class WsAcceptor implements Acceptor {
  listen(host: string, port: number, accept: (link: Link) => void): Promise<Listener> {
    if (!isLoopback(host)) {
      const sentence = `Runnel serves plain ws on loopback only until wss exists: use 127.0.0.1:${port}, and an SSH tunnel from elsewhere.`;
      return Promise.reject(new RunnelError("Denied", "listen", sentence));
    }
    return new Promise((resolve, reject) => {
      const server = new WebSocketServer({
        ...SOCKET_OPTIONS,
        host,
        port,
        path: WIRE_PATH,
        verifyClient: ({ req }, answer) => {
          const fault = faultOf(req);
          answer(fault === undefined, fault?.status, fault?.words);
        },
        handleProtocols: () => WIRE_SUBPROTOCOL,
      });
      server.once("error", (error) => reject(cannotListen(host, port, error)));
      server.on("connection", (socket, request) => accept(new WsLink(socket, request.socket, false)));
      server.once("listening", () => resolve(listenerOf(server)));
    });
  }
}

function listenerOf(server: WebSocketServer): Listener {
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    close: () =>
      new Promise((resolve) => {
        for (const socket of server.clients) {
          if (socket.isPaused) socket.resume();
          socket.close(CLOSE_GOING_AWAY, "The server stops.");
        }
        server.close(() => resolve());
      }),
  };
}

/** Why an opening request is refused; undefined when it is not. */
function faultOf(request: IncomingMessage): { status: number; words: string } | undefined {
  // Only browsers send it: no page may talk to the wire of the machine it is shown on.
  if (request.headers.origin !== undefined) return { status: HTTP_FORBIDDEN, words: "The wire is not for web pages." };
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((word) => word.trim());
  if (offered.includes(WIRE_SUBPROTOCOL)) return undefined;
  return { status: HTTP_UPGRADE_REQUIRED, words: `This server speaks the subprotocol ${WIRE_SUBPROTOCOL}.` };
}

/** Host and port of a mount URL; its path names a volume and is not for the dialer. */
function addressOf(url: string): { host: string; port: number } {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.hostname === "" || !/^wss?:$/.test(parsed.protocol)) {
    throw new RunnelError("Invalid", "dial", "A server's address looks like ws://127.0.0.1:PORT/VOLUME.");
  }
  if (parsed.protocol === "wss:")
    throw new RunnelError("Unsupported", "dial", "Runnel does not speak wss yet: use ws on loopback.");
  if (!isLoopback(parsed.hostname)) throw notLoopback(parsed.hostname);
  return { host: parsed.hostname, port: parsed.port === "" ? WS_PORT : Number(parsed.port) };
}

/** 127.0.0.0/8, ::1, localhost; IPv6 with or without brackets, IPv4 also as the kernel shows it on a socket of both. */
export function isLoopback(host: string): boolean {
  return /^(localhost|(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/i.test(host);
}

function notLoopback(host: string): RunnelError {
  return new RunnelError(
    "Denied",
    "dial",
    `Runnel dials plain ws on loopback only, and ${host} is not: use an SSH tunnel to it.`,
  );
}

function interrupted(place: string): RunnelError {
  return new RunnelError("Interrupted", "dial", `The attempt to reach ${place} was ended.`);
}

function refused(place: string, { statusCode, statusMessage }: IncomingMessage): RunnelError {
  if (statusCode === HTTP_UPGRADE_REQUIRED) {
    const sentence = `The server at ${place} speaks another version of Runnel's protocol: update the older one.`;
    return new RunnelError("Version", "dial", sentence);
  }
  return new RunnelError(
    "Unreachable",
    "dial",
    `${place} answers, but not as a Runnel server of this version (HTTP ${statusCode} ${statusMessage}).`,
  );
}

function unreachable(place: string, cause: Error): RunnelError {
  const code = (cause as { code?: unknown }).code;
  const why = code === "ECONNREFUSED" ? "nothing listens there" : cause.message || String(code);
  return new RunnelError("Unreachable", "dial", `Cannot reach a server at ${place}: ${why}.`, { cause });
}

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

/** The longest beginning of whole characters within so many UTF-8 bytes. */
function cutUtf8(text: string, bytesMax: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > bytesMax) cut = [...cut].slice(0, -1).join("");
  return cut;
}
