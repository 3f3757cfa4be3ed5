// Listens on this machine's loopback for the pages of its user, and takes in what may be answered: HTTP, and WebSockets
// for calls on the same port.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { getRequestListener } from "@hono/node-server";
import type { WsCarrier } from "../../calls/ws-carrier.ts";
import { fromSystemError } from "../../errors.ts";
import { callUpgrades } from "../../host/call-upgrades.ts";
import { Crowd } from "../../admission/crowd.ts";
import { PAGE_LIMITS } from "../page-limits.ts";
import { loopbackPlace, requestFault } from "../request-guard.ts";
import { pathFault, refuse, refuseUpgrade } from "./refuse.ts";

const HOST = "127.0.0.1";
/** Interval of the search for requests that have not come in time. */
const LOOK_MS = 1_000;

export interface ListenerCallbacks {
  /** Answers HTTP. */
  fetch(request: Request): Response | Promise<Response>;
  /** A WebSocket was opened, by whomever. `owned` is to be called once a page session owns it. */
  opened(carrier: WsCarrier, owned: () => void): void;
  problem?(error: unknown): void;
}

export interface PageListener {
  port: number;
  /**
   * Takes nothing more. Resolves when all connections are gone; those of HTTP end now, those of calls are the caller's.
   */
  close(): Promise<void>;
  /** Ends what is left. */
  destroy(): void;
}

/** `callbacksOf` is told the port. @throws RunnelError */
export async function listenForPages(callbacksOf: (port: number) => ListenerCallbacks): Promise<PageListener> {
  const server = createServer({
    headersTimeout: PAGE_LIMITS.headMs,
    requestTimeout: PAGE_LIMITS.requestMs,
    connectionsCheckingInterval: LOOK_MS,
  });
  const crowd = new Crowd(PAGE_LIMITS.connections);
  const sockets = new Set<Socket>();
  const leaves = new WeakMap<Duplex, () => void>();
  server.on("connection", (socket) => {
    const leave = crowd.enter(socket.remoteAddress ?? "", () => socket.destroy());
    sockets.add(socket);
    leaves.set(socket, leave);
    socket.once("close", () => {
      leave();
      sockets.delete(socket);
    });
  });
  try {
    await new Promise<void>((done, fail) => {
      server.once("error", fail);
      server.listen(0, HOST, done);
    });
  } catch (error) {
    throw fromSystemError(error, "open a page");
  }
  const { port } = server.address() as AddressInfo;
  const { fetch, opened, problem } = callbacksOf(port);
  server.on("error", (error) => problem?.(error));
  const place = loopbackPlace(port);
  const answer = getRequestListener(fetch, { overrideGlobalObjects: false });
  server.on("request", (request, response) => {
    const fault = requestFault(request, place, false);
    if (fault === undefined) void answer(request, response);
    else refuse(response, fault, place);
  });
  const takeUpgrade = callUpgrades(PAGE_LIMITS.bodyBytes);
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const fault = requestFault(request, place, true) ?? pathFault(request);
    if (fault === undefined)
      takeUpgrade(request, stream, head, (carrier) => opened(carrier, () => leaves.get(stream)?.()));
    else refuseUpgrade(stream, fault);
  });
  return {
    port,
    close: async () => {
      const closed = new Promise<void>((done) => {
        server.close(() => done());
      });
      server.closeAllConnections();
      await closed;
    },
    destroy: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}
