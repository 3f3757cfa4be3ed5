// Takes upgrades of an HTTP server over as WebSockets that carry calls. Who may ask for one is the HTTP server's to
// judge.
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocketServer } from "ws";
import { WsCarrier } from "../calls/ws-carrier.ts";

const SOCKET_OPTIONS = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  /** Milliseconds that a closed connection waits for the other end's close frame. */
  closeTimeout: 2_000,
} as const;

export type TakeUpgrade = (
  request: IncomingMessage,
  stream: Duplex,
  head: Buffer,
  opened: (carrier: WsCarrier) => void,
) => void;

/** A request that is no WebSocket's is refused with 400. A longer text than `textBytesMax` ends its connection. */
export function callUpgrades(textBytesMax: number): TakeUpgrade {
  const server = new WebSocketServer({ ...SOCKET_OPTIONS, maxPayload: textBytesMax });
  return (request, stream, head, opened) =>
    server.handleUpgrade(request, stream, head, (socket) => opened(new WsCarrier(socket)));
}
