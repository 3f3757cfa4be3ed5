// The agent's end of the control socket: reads requests, hands them to the agent, sends what it answers. Knows nothing of drives.
import { createServer, type Server, type Socket } from "node:net";
import {
  type Clock,
  fromSystemError,
  isRunnelError,
  listenPrivately,
  removeSocket,
  RunnelError,
  type Timer,
} from "@runnel/shared";
import { LineSplitter } from "./line-splitter.ts";
import { CONTROL_LIMITS, CONTROL_VERSION, FaceMessage, parseLine, type Request, toWireError } from "./messages.ts";

/** One request being answered. */
export interface Call {
  /** Sends a part; resolves when there is room for more. */
  part(value: unknown): Promise<void>;
  /** Aborted when the face cancels or goes. */
  readonly signal: AbortSignal;
}

export interface ControlServerSettings {
  version: string;
  clock: Clock;
  /** The result of a request. What it throws is sent as an error. */
  handle(request: Request, call: Call): Promise<unknown>;
  /** A connection was opened or closed. */
  changed?(): void;
  /** A face broke the rules, or a request failed in a way that is a fault of the agent. */
  problem?(error: unknown): void;
}

export class ControlServer {
  readonly #settings: ControlServerSettings;
  readonly #server: Server;
  readonly #connections = new Set<ControlConnection>();
  #path = "";

  constructor(settings: ControlServerSettings) {
    this.#settings = settings;
    this.#server = createServer((socket) => this.#accept(socket));
    this.#server.maxConnections = CONTROL_LIMITS.connections;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /** Listens for this user's faces only. The caller holds the home's lock, so a socket that is there is a dead agent's. */
  async listen(path: string): Promise<void> {
    await listenPrivately(this.#server, path, "open the control socket");
    this.#path = path;
    this.#server.on("error", (error) => this.#settings.problem?.(error));
  }

  /** Stops listening; open connections end when their last answer is out. */
  async close(): Promise<void> {
    const closed = new Promise<void>((done) => {
      this.#server.close(() => done());
    });
    for (const connection of this.#connections) connection.finish();
    const timer = this.#settings.clock.after(CONTROL_LIMITS.finishMs, () => {
      for (const connection of this.#connections) connection.destroy();
    });
    await closed;
    timer.cancel();
    removeSocket(this.#path);
  }

  #accept(socket: Socket): void {
    const connection = new ControlConnection(socket, this.#settings);
    this.#connections.add(connection);
    this.#settings.changed?.();
    socket.once("close", () => {
      this.#connections.delete(connection);
      this.#settings.changed?.();
    });
  }
}

class ControlConnection {
  readonly #socket: Socket;
  readonly #settings: ControlServerSettings;
  readonly #lines = new LineSplitter(CONTROL_LIMITS.requestLineBytes);
  readonly #calls = new Map<number, AbortController>();
  #helloTimer: Timer | undefined;
  #isFinishing = false;

  constructor(socket: Socket, settings: ControlServerSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#helloTimer = settings.clock.after(CONTROL_LIMITS.helloMs, () => socket.destroy());
    socket.on("data", (bytes) => this.#read(bytes));
    // What breaks a local socket is the face's end; "close" follows.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      this.#helloTimer?.cancel();
      for (const call of this.#calls.values()) call.abort();
    });
    this.#send({ hello: { control: CONTROL_VERSION, version: settings.version, pid: process.pid } });
  }

  /** Answers what was asked, takes nothing more, and closes. */
  finish(): void {
    this.#isFinishing = true;
    if (this.#calls.size === 0) this.#socket.end();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #read(bytes: Uint8Array): void {
    try {
      for (const line of this.#lines.push(bytes)) this.#take(parseLine(FaceMessage, line, "read a control message"));
    } catch (error) {
      this.#settings.problem?.(error);
      this.#socket.destroy();
    }
  }

  #take(message: FaceMessage): void {
    if (this.#isFinishing) return;
    if ("hello" in message) {
      this.#helloTimer?.cancel();
      this.#helloTimer = undefined;
      // The face has our hello and tells its user; nothing it says could be understood here.
      if (message.hello.control !== CONTROL_VERSION) this.#socket.end();
      return;
    }
    if (this.#helloTimer !== undefined)
      throw new RunnelError("Invalid", "read a control message", "No hello came first.");
    if ("cancel" in message) {
      this.#calls.get(message.cancel)?.abort();
      return;
    }
    const { id, request } = message;
    if (this.#calls.has(id) || this.#calls.size >= CONTROL_LIMITS.requests) {
      throw new RunnelError("Invalid", "read a control message", "A request came twice, or too many came at once.");
    }
    void this.#answer(id, request);
  }

  async #answer(id: number, request: Request): Promise<void> {
    const call = new AbortController();
    this.#calls.set(id, call);
    try {
      const part = (value: unknown): Promise<void> => this.#sendPart(id, value, call.signal);
      const result = await this.#settings.handle(request, { part, signal: call.signal });
      this.#send({ id, result });
    } catch (error) {
      if (!isRunnelError(error)) this.#settings.problem?.(error);
      this.#send({ id, error: toWireError(fromSystemError(error, request.verb)) });
    } finally {
      this.#calls.delete(id);
      if (this.#isFinishing && this.#calls.size === 0) this.#socket.end();
    }
  }

  async #sendPart(id: number, part: unknown, signal: AbortSignal): Promise<void> {
    if (this.#send({ id, part }) || signal.aborted) return;
    await new Promise<void>((done) => {
      const go = (): void => {
        this.#socket.off("drain", go);
        signal.removeEventListener("abort", go);
        done();
      };
      this.#socket.on("drain", go);
      signal.addEventListener("abort", go);
    });
  }

  #send(message: unknown): boolean {
    return this.#socket.writable && this.#socket.write(`${JSON.stringify(message)}\n`);
  }
}
