// A carrier over a socket: a text a line, in UTF-8.
import type { Socket } from "node:net";
import type { Carrier } from "./carrier.ts";
import { LineSplitter } from "./line-splitter.ts";

export class LineCarrier implements Carrier {
  readonly #socket: Socket;
  readonly #lines: LineSplitter;
  #isClosed = false;
  #room: Promise<void> | undefined;
  #error: unknown;

  constructor(socket: Socket, lineBytesMax: number) {
    this.#socket = socket;
    this.#lines = new LineSplitter(lineBytesMax);
    // A local socket breaks at its other end; "close" follows.
    socket.on("error", () => undefined);
  }

  send(text: string): Promise<void> | undefined {
    if (this.#isClosed || !this.#socket.writable || this.#socket.write(`${text}\n`)) return undefined;
    this.#room ??= new Promise((done) => {
      const end = (): void => {
        this.#socket.off("drain", end).off("close", end);
        this.#room = undefined;
        done();
      };
      this.#socket.on("drain", end).on("close", end);
    });
    return this.#room;
  }

  onText(take: (text: string) => void): void {
    this.#socket.on("data", (bytes) => {
      if (this.#isClosed) return;
      let lines: string[];
      try {
        lines = this.#lines.push(bytes);
      } catch (error) {
        this.#error = error;
        this.close();
        return;
      }
      for (const line of lines) if (!this.#isClosed) take(line);
    });
  }

  onClose(closed: (error?: unknown) => void): void {
    this.#socket.once("close", () => closed(this.#error));
  }

  close(): void {
    this.#isClosed = true;
    this.#socket.destroySoon();
  }
}
