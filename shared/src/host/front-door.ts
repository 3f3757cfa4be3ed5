// Serves one port for connections with TLS and without: the first byte decides, before anything is answered. A silent
// connection is closed after loginGraceMs, or when the crowd needs its place.
import type { Server as HttpServer } from "node:http";
import { type Server, type Socket, createServer } from "node:net";
import { TIMING } from "../limits.ts";
import type { Crowd } from "../admission/crowd.ts";

/** ContentType.handshake (RFC 8446 §5.1); no HTTP method begins so. */
const TLS_HANDSHAKE = 22;

/** Servers behind the front; undefined where there is none. */
export interface Doors {
  plain: HttpServer | undefined;
  /** Asked for while there is none. */
  secure(): HttpServer | undefined;
}

export interface Front {
  server: Server;
  /**
   * The TCP connection below a socket of a door, and what it calls when it asks for something: then it is one of the
   * crowd no more.
   */
  below(stream: Socket): { tcp: Socket; opened(): void };
  close(): Promise<void>;
}

export function frontDoor({ plain, secure }: Doors, crowd: Crowd): Front {
  // A TLS socket of a server does not say which TCP connection is below it: both know the two ends.
  const carriers = new Map<string, { tcp: Socket; opened(): void }>();
  /** Connections that have asked for nothing yet. */
  const silent = new Set<Socket>();
  // Requests are answered before the door closes.
  const listening = (door: HttpServer | undefined): HttpServer | undefined =>
    door?.on("request", ({ socket }) => {
      const tcp = carriers.get(endsOf(socket))?.tcp;
      if (tcp !== undefined) silent.delete(tcp);
    });
  listening(plain);
  let secureOne: HttpServer | undefined;
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (tcp) => {
    const ends = endsOf(tcp);
    const leave = crowd.enter(tcp.remoteAddress ?? "", () => tcp.destroy());
    const opened = (): void => {
      leave();
      silent.delete(tcp);
    };
    carriers.set(ends, { tcp, opened });
    silent.add(tcp);
    tcp.once("close", () => {
      opened();
      carriers.delete(ends);
    });
    onFirstByte(tcp, (byte) => {
      const door = byte === TLS_HANDSHAKE ? (secureOne ??= listening(secure())) : plain;
      if (door === undefined) tcp.destroy();
      else door.emit("connection", tcp);
    });
  });
  return {
    server,
    below: (stream) => carriers.get(endsOf(stream)) ?? { tcp: stream, opened: () => undefined },
    close: async () => {
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const tcp of silent) tcp.destroy();
      // Ends what is idle, and the timers of impatience.
      plain?.close();
      secureOne?.close();
      await closed;
    },
  };
}

/** The byte is still to be read afterwards. */
function onFirstByte(tcp: Socket, told: (byte: number | undefined) => void): void {
  const gone = (): void => void tcp.destroy();
  tcp.on("error", gone);
  tcp.once("end", gone);
  tcp.setTimeout(TIMING.loginGraceMs, gone);
  tcp.once("data", (bytes: Buffer) => {
    tcp.pause();
    tcp.setTimeout(0);
    tcp.off("timeout", gone);
    tcp.off("end", gone);
    tcp.unshift(bytes);
    told(bytes[0]);
    // TLS has taken what was read; for HTTP it flows on.
    process.nextTick(() => tcp.resume());
  });
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
