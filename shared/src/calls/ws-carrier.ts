// A carrier over a WebSocket: a text a message. Who opens the WebSocket is elsewhere (host/call-upgrades.ts).
import type { WebSocket } from "ws";
import { RunnelError } from "../errors.ts";
import type { Carrier } from "./carrier.ts";

/** Bytes that wait for the other end. With more it is not read from either: it might ask on and never listen. */
const QUEUED_BYTES_MAX = 64 * 1024;
/** Codes of a close (RFC 6455 §7.4.1). */
const CLOSE_NORMAL = 1000;
const CLOSE_NOT_TEXT = 1003;

export class WsCarrier implements Carrier {
  readonly #socket: WebSocket;
  #isClosed = false;
  #room: PromiseWithResolvers<void> | undefined;
  #error: unknown;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on("error", (error) => {
      this.#error ??= faultOf(error);
    });
    socket.on("close", () => this.#drained());
  }

  send(text: string): Promise<void> | undefined {
    const socket = this.#socket;
    if (this.#isClosed || socket.readyState !== socket.OPEN) return undefined;
    socket.send(text, () => {
      if (socket.bufferedAmount <= QUEUED_BYTES_MAX) this.#drained();
    });
    if (socket.bufferedAmount <= QUEUED_BYTES_MAX) return undefined;
    if (this.#room === undefined) {
      this.#room = Promise.withResolvers();
      socket.pause();
    }
    return this.#room.promise;
  }

  onText(take: (text: string) => void): void {
    this.#socket.on("message", (data, isBinary) => {
      if (this.#isClosed) return;
      if (!isBinary) {
        take((data as Buffer).toString());
        return;
      }
      this.#error ??= new RunnelError("Invalid", "read a call's message", "A message is not a text.");
      this.close(CLOSE_NOT_TEXT);
    });
  }

  onClose(closed: (error?: unknown) => void): void {
    this.#socket.once("close", () => closed(this.#error));
  }

  /** The code and the reason (123 bytes) are for the other end. */
  close(code = CLOSE_NORMAL, reason = ""): void {
    this.#isClosed = true;
    // A paused socket would not read the other end's close frame.
    if (this.#socket.isPaused) this.#socket.resume();
    this.#socket.close(code, reason);
  }

  #drained(): void {
    if (this.#room === undefined) return;
    this.#room.resolve();
    this.#room = undefined;
    if (this.#socket.isPaused) this.#socket.resume();
  }
}

/** @returns undefined when the connection only broke: the other end is gone, and did nothing wrong. */
function faultOf(cause: Error): RunnelError | undefined {
  const { code } = cause as { code?: unknown };
  if (typeof code !== "string" || !code.startsWith("WS_ERR_")) return undefined;
  const operation = "read a call's message";
  if (code === "WS_ERR_UNSUPPORTED_MESSAGE_LENGTH")
    return new RunnelError("TooLarge", operation, "A message is too long.", { cause });
  return new RunnelError("Invalid", operation, "A message is not what WebSockets carry.", { cause });
}
