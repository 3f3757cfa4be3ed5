// Links over WebSocket: the only file that knows `ws`. The path is always /wire, the subprotocol runnel.1, without
// permessage-deflate. Dialing and what lies below a WebSocket is carrier.ts, listening is ws-acceptor.ts.
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { type RawData, WebSocket } from "ws";
import { RunnelError } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { ConnectSteps } from "./dial/connect-steps.ts";
import { type Carrier, openCarrier, silent, unreachable } from "./carrier.ts";
import { LinkInbox } from "./link-inbox.ts";
import type { Dialer, Link, LinkEvents } from "./link.ts";
import { LocalSecrets } from "./local/local-secrets.ts";
import { Meeting, NONCE_HEADER, PROOF_HEADER } from "./local/local-proof.ts";
import { addressOf, placeOf } from "./dial/server-address.ts";
import type { ServerTrust } from "./dial/server-trust.ts";
import { passedThrough } from "./small-heap.ts";

export const WIRE_PATH = "/wire";
export const WIRE_SUBPROTOCOL = "runnel.1";

const CLOSE_NOT_BINARY = 1003;
/** A close frame's payload is 125 bytes at most, two of them the code (RFC 6455 §5.5). */
const CLOSE_REASON_BYTES_MAX = 123;
/** First byte of a frame that is a whole binary message; bit of the second; bytes of a mask (RFC 6455 §5.2). */
const FINAL_BINARY = 0x82;
const MASKED = 0x80;
const MASK_BYTES = 4;
/** Time that a closed link waits for the other side's close frame. */
const CLOSE_MS_MAX = 2_000;
/** Sent and not read: of a link that is closed with more than this the rest is dropped. */
const UNREAD_BYTES_MAX = 256 * 1024;
/** RFC 9110 §15.5.22: another protocol would do. */
export const HTTP_UPGRADE_REQUIRED = 426;
const HTTP_BUSY = 503;

export const SOCKET_OPTIONS = {
  perMessageDeflate: false,
  maxPayload: LIMITS.frameBytes,
  closeTimeout: CLOSE_MS_MAX,
} as const;

type PeerProofs = Pick<Link, "ownerProof" | "peerKey">;

export class WsLink implements Link {
  readonly remoteAddress: string;
  readonly ownerProof: string | undefined;
  readonly peerKey: Uint8Array | undefined;
  readonly #socket: WebSocket;
  readonly #inbox = new LinkInbox();
  readonly #stream: Socket;
  readonly #tcp: Socket;
  /** Frames of clients are. */
  readonly #isMasking: boolean;
  #isGathering = false;
  #receivedMax = Infinity;
  #failure = "";

  constructor(socket: WebSocket, { stream, tcp }: Carrier, isMasking: boolean, proofs: PeerProofs = {}) {
    this.#socket = socket;
    this.ownerProof = proofs.ownerProof;
    this.peerKey = proofs.peerKey;
    this.#stream = stream;
    this.#isMasking = isMasking;
    this.#tcp = tcp;
    this.remoteAddress = tcp.remoteAddress ?? "";
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
    // Beside the WebSocket's own reader: a message that is too long is not waited for.
    stream.on("data", (bytes: Uint8Array) => {
      passedThrough(bytes.length);
      if (this.receivedBytes > this.#receivedMax) socket.terminate();
    });
  }

  listen(events: LinkEvents): void {
    this.#inbox.listen(events);
    if (this.#socket.readyState !== WebSocket.CLOSED) this.#socket.resume();
  }

  limit(bytes: number | undefined): void {
    this.#receivedMax = bytes === undefined ? Infinity : this.receivedBytes + bytes;
  }

  send(payload: Uint8Array): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    passedThrough(payload.length);
    this.#gather();
    this.#socket.send(payload, { binary: true });
  }

  /** Gathers the messages of one turn, so that they go to the system in one call. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#stream.cork();
    setImmediate(() => {
      this.#isGathering = false;
      this.#stream.uncork();
    });
  }

  sendParts(head: Uint8Array, body: Uint8Array, gone: () => void): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    // ws would want one buffer. Without compression it keeps no queue of its own, so what is written beside it keeps
    // its place.
    this.#gather();
    this.#stream.write(encodeFrameHead(head, body.length, this.#isMasking));
    this.#stream.write(body, () => gone());
  }

  get bufferedBytes(): number {
    return this.#socket.bufferedAmount;
  }

  get sentBytes(): number {
    return this.#tcp.bytesWritten;
  }

  get receivedBytes(): number {
    return this.#tcp.bytesRead;
  }

  /** The local side hears of it at once; what was sent before still goes out. */
  close(code: number, reason: string): void {
    if (this.#inbox.isEnded) return;
    this.#inbox.discard();
    this.#inbox.end(code, reason);
    // A peer that leaves so much unread does not hear why in time, and it would lie in memory until then.
    if (this.bufferedBytes > UNREAD_BYTES_MAX) {
      this.#socket.terminate();
      return;
    }
    // A paused socket would not read the other side's close frame.
    if (this.#socket.isPaused) this.#socket.resume();
    this.#socket.close(code, cutUtf8(reason, CLOSE_REASON_BYTES_MAX));
  }
}

/**
 * The head of a whole binary message (RFC 6455 §5.2), its mask of zeros included, and the message's own first bytes
 * behind it.
 */
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
  readonly #trustOf: (place: string) => ServerTrust;
  readonly #secrets: LocalSecrets;

  /** `trustOf` is asked at each dialing of a wss server, by host:port; `secrets` of one without TLS. */
  constructor(trustOf: (place: string) => ServerTrust = () => ({}), secrets = LocalSecrets.ofUser()) {
    this.#trustOf = trustOf;
    this.#secrets = secrets;
  }

  async dial(url: string, signal?: AbortSignal): Promise<Link> {
    const address = addressOf(url);
    const place = placeOf(address);
    const steps = new ConnectSteps();
    const ending = signal === undefined ? steps.signal : AbortSignal.any([signal, steps.signal]);
    let isCarried = false;
    try {
      steps.next();
      const trust = address.isSecure ? this.#trustOf(place) : {};
      const carrier = await openCarrier(address, trust, ending, () => steps.next());
      isCarried = true;
      steps.next();
      const meeting = address.isSecure ? undefined : this.#meet(carrier, place);
      return await upgrade(carrier, place, meeting, ending);
    } catch (error) {
      if (signal?.aborted)
        throw new RunnelError("Interrupted", "dial", `The attempt to reach ${place} was ended.`, { cause: error });
      if (!steps.isOverdue) throw error;
      throw isCarried ? silent(place, error) : unreachable(place, new Error("it takes too long to answer"));
    } finally {
      steps.end();
    }
  }

  /** @throws RunnelError Denied when no server of this user's can listen there. */
  #meet({ tcp }: Carrier, place: string): Meeting {
    const { remoteAddress: address = "", remotePort: port = 0 } = tcp;
    const secrets = this.#secrets.find({ address, port });
    if (secrets.length > 0) return new Meeting(secrets);
    tcp.destroy();
    const sentence = `No server that this user runs listens at ${place}. Ask whoever runs it for an invite, or name its secret with --secret.`;
    throw new RunnelError("Denied", "dial", sentence);
  }
}

/** `meeting`: without TLS. */
function upgrade(carrier: Carrier, place: string, meeting: Meeting | undefined, ending: AbortSignal): Promise<Link> {
  return new Promise((resolve, reject) => {
    // The carrier has its TLS already.
    const socket = new WebSocket(`ws://${place}${WIRE_PATH}`, WIRE_SUBPROTOCOL, {
      ...SOCKET_OPTIONS,
      createConnection: () => carrier.stream,
      followRedirects: false,
      ...(meeting === undefined ? {} : { headers: { [NONCE_HEADER]: meeting.nonce } }),
      // Masks protect proxies from scripts in browsers (RFC 6455 §10.3); on loopback and within TLS there are neither,
      // and a zero mask is free.
      generateMask: (mask) => mask.fill(0),
    });
    const fail = (error: RunnelError): void => {
      ending.removeEventListener("abort", abort);
      socket.on("error", () => {});
      socket.terminate();
      carrier.stream.destroy();
      reject(error);
    };
    const abort = (): void => fail(unreachable(place, new Error("the attempt was ended")));
    ending.addEventListener("abort", abort);
    if (ending.aborted) abort();
    socket.once("error", (error) => fail(unreachable(place, error)));
    socket.once("unexpected-response", (_request, response) => {
      response.resume();
      fail(refused(place, response));
    });
    let ownerProof: string | undefined;
    socket.once("upgrade", ({ headers }) => {
      ownerProof = meeting?.answer(headers[PROOF_HEADER.toLowerCase()]);
    });
    socket.once("open", () => {
      if (meeting !== undefined && ownerProof === undefined) return fail(unproved(place));
      ending.removeEventListener("abort", abort);
      socket.removeAllListeners();
      resolve(new WsLink(socket, carrier, true, { ownerProof }));
    });
  });
}

/** Nothing was said to it but a nonce. */
function unproved(place: string): RunnelError {
  const sentence = `What answers at ${place} is not the server that this user runs there. Stop it, or ask whoever runs it for an invite.`;
  return new RunnelError("Denied", "dial", sentence);
}

function refused(place: string, { statusCode, statusMessage }: IncomingMessage): RunnelError {
  if (statusCode === HTTP_UPGRADE_REQUIRED) {
    const sentence = `The server at ${place} speaks another version of Runnel's protocol: update the older one.`;
    return new RunnelError("Version", "dial", sentence);
  }
  if (statusCode === HTTP_BUSY)
    return new RunnelError("Unreachable", "dial", `The server at ${place} has too many connections. Try again later.`);
  return new RunnelError(
    "Unreachable",
    "dial",
    `${place} answers, but not as a Runnel server of this version (HTTP ${statusCode} ${statusMessage}).`,
  );
}

/** The longest beginning of whole characters within so many UTF-8 bytes. */
function cutUtf8(text: string, bytesMax: number): string {
  let cut = text;
  while (Buffer.byteLength(cut) > bytesMax) cut = [...cut].slice(0, -1).join("");
  return cut;
}
