// Listens on the control socket and answers each connection of it. Knows nothing of drives.
import { createServer, type Server, type Socket } from "node:net";
import { CallServer, type CallServerSettings, LineCarrier, listenPrivately, removeSocket } from "@runnel/shared/base";
import { CONTROL_FEATURES, CONTROL_LIMITS, CONTROL_VERSION } from "./protocol.ts";

export interface ControlServerSettings extends Pick<CallServerSettings, "clock" | "table" | "handle" | "problem"> {
  version: string;
  /** Called when a connection was opened or closed. */
  changed?(): void;
}

export class ControlServer {
  readonly #settings: ControlServerSettings;
  readonly #server: Server;
  readonly #connections = new Map<Socket, CallServer>();
  #path = "";

  constructor(settings: ControlServerSettings) {
    this.#settings = settings;
    const highWaterMark = CONTROL_LIMITS.queuedBytes;
    this.#server = createServer({ highWaterMark }, (socket) => this.#accept(socket));
    this.#server.maxConnections = CONTROL_LIMITS.connections;
  }

  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Listens for this user's faces only. The caller holds the home's lock, so a socket that is there is a dead agent's.
   */
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
    for (const connection of this.#connections.values()) connection.finish();
    const timer = this.#settings.clock.after(CONTROL_LIMITS.finishMs, () => {
      for (const socket of this.#connections.keys()) socket.destroy();
    });
    await closed;
    timer.cancel();
    removeSocket(this.#path);
  }

  #accept(socket: Socket): void {
    const { version, changed, ...settings } = this.#settings;
    const connection = new CallServer(new LineCarrier(socket, CONTROL_LIMITS.requestLineBytes), {
      ...settings,
      hello: { protocol: CONTROL_VERSION, version, pid: process.pid, features: [...CONTROL_FEATURES] },
      helloMs: CONTROL_LIMITS.helloMs,
      requestsMax: CONTROL_LIMITS.requests,
    });
    this.#connections.set(socket, connection);
    changed?.();
    socket.once("close", () => {
      this.#connections.delete(socket);
      changed?.();
    });
  }
}
