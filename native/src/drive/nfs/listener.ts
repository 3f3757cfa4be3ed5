// Listens for clients of the NFS drive, on loopback alone, and lets in what may come: connections of this user, and of
// the kernel.
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { type Answer, serveConnection } from "./connection.ts";
import type { PeerUid } from "./host/peer-uid.ts";
import { CONNECTIONS_MAX } from "./wire/bounds.ts";

export interface ListenerDeps {
  uid: number;
  peerUid: PeerUid;
  answer(record: Buffer): Promise<Answer | undefined>;
  log(message: string, error?: unknown): void;
}

const LOOPBACK = "127.0.0.1";
/** The kernel's own sockets are root's. */
const ROOT = 0;

export class Listener {
  readonly #deps: ListenerDeps;
  readonly #server: Server;
  /** All connections, the oldest first. */
  readonly #sockets = new Set<Socket>();
  /** Connections that are not given up for others. */
  readonly #proved = new WeakSet<Socket>();
  #hasRefused = false;

  constructor(deps: ListenerDeps) {
    this.#deps = deps;
    this.#server = createServer({ pauseOnConnect: true }, (socket) => void this.#take(socket));
    // A connection could not be accepted; those there are go on.
    this.#server.on("error", (error) => deps.log("a connection of the NFS drive failed", error));
  }

  /** Resolves with the port. @throws the system's error */
  async listen(): Promise<number> {
    this.#server.listen({ host: LOOPBACK, port: 0, exclusive: true });
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends all connections; resolves when the port is free. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #take(socket: Socket): Promise<void> {
    socket.on("error", () => undefined);
    if (!this.#takePlace()) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (!(await this.#isAdmitted(socket))) {
      // Others may come as often as they like.
      if (!this.#hasRefused) this.#deps.log("a connection to the NFS drive was refused: it is another user's");
      this.#hasRefused = true;
      socket.destroy();
      return;
    }
    if (socket.destroyed) return;
    serveConnection(socket, {
      answer: (record) => this.#deps.answer(record),
      proved: () => this.#proved.add(socket),
    });
    socket.resume();
  }

  /** Has a place for one more connection: that of the oldest that has proved nothing, where all are taken. */
  #takePlace(): boolean {
    if (this.#sockets.size < CONNECTIONS_MAX) return true;
    const oldest = [...this.#sockets].find((socket) => !this.#proved.has(socket));
    if (oldest === undefined) return false;
    oldest.destroy();
    return this.#sockets.delete(oldest);
  }

  async #isAdmitted({ localPort, remoteAddress, remotePort }: Socket): Promise<boolean> {
    if (remoteAddress !== LOOPBACK || localPort === undefined || remotePort === undefined) return false;
    const uid = await this.#deps.peerUid(remotePort, localPort);
    return uid === "unknown" || uid === this.#deps.uid || uid === ROOT;
  }
}
