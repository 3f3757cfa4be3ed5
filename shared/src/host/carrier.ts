// Carries a WebSocket: a TCP connection, direct or through a proxy, with TLS 1.3 on it unless it stays on this machine.
// The server's key is known before a byte of the WebSocket is sent.
import { once } from "node:events";
import { type Socket, connect as connectTcp, isIP } from "node:net";
import { type TLSSocket, connect as connectTls } from "node:tls";
import { RunnelError } from "../errors.ts";
import { lookup } from "./dial/host-lookup.ts";
import { openTunnel, proxyFor } from "./dial/proxy-tunnel.ts";
import { type ServerAddress, isLoopback, notLoopback, placeOf } from "./dial/server-address.ts";
import { type ServerTrust, checkFingerprint, systemAuthorities, trustError } from "./dial/server-trust.ts";

export interface Carrier {
  /** Stream that the WebSocket reads and writes. */
  readonly stream: Socket;
  /** The TCP connection below: it counts what crosses the line. */
  readonly tcp: Socket;
}

/**
 * `stepped`: a step is done, the next begins. @throws RunnelError with a sentence for a person: Unreachable, Denied.
 */
export async function openCarrier(
  address: ServerAddress,
  trust: ServerTrust,
  signal: AbortSignal,
  stepped: () => void,
): Promise<Carrier> {
  const proxy = address.isSecure ? proxyFor(address, trust.proxy) : undefined;
  const tcp = proxy === undefined ? await openTcp(address, signal) : await openTunnel(proxy, address, signal, stepped);
  try {
    stepped();
    tcp.setNoDelay(true);
    if (address.isSecure) return { stream: await secured(tcp, address, trust, signal), tcp };
    mustBeLocal(tcp.remoteAddress, address);
    return { stream: tcp, tcp };
  } catch (error) {
    destroy(tcp);
    throw error;
  }
}

/**
 * "localhost" is what the system's tables say; the rule is about where the bytes go. A connection that was reset
 * meanwhile (undefined) goes nowhere. @throws Denied, Unreachable
 */
export function mustBeLocal(remoteAddress: string | undefined, address: ServerAddress): void {
  if (remoteAddress === undefined) throw unreachable(placeOf(address), new Error("the connection was reset"));
  if (!isLoopback(remoteAddress)) throw notLoopback(address.host);
}

async function openTcp(address: ServerAddress, signal: AbortSignal): Promise<Socket> {
  const tcp = connectTcp({ host: unbracketed(address.host), port: address.port, lookup });
  try {
    await once(tcp, "connect", { signal });
    return tcp;
  } catch (error) {
    destroy(tcp);
    throw unreachable(placeOf(address), error as Error);
  }
}

async function secured(
  tcp: Socket,
  address: ServerAddress,
  trust: ServerTrust,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const place = placeOf(address);
  const host = unbracketed(address.host);
  const { fingerprint, authorities, own } = trust;
  const stream = connectTls({
    socket: tcp,
    minVersion: "TLSv1.3",
    ALPNProtocols: ["http/1.1"],
    host,
    ...(own === undefined ? {} : { key: own.key, cert: own.certificate }),
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ...(fingerprint === undefined
      ? { ca: authorities === undefined ? systemAuthorities() : [...systemAuthorities(), authorities] }
      : { rejectUnauthorized: false }),
  });
  try {
    await once(stream, "secureConnect", { signal });
    if (fingerprint !== undefined) checkFingerprint(place, stream.getPeerX509Certificate(), fingerprint);
    return stream;
  } catch (error) {
    destroy(stream);
    if (error instanceof RunnelError) throw error;
    throw trustError(place, error as Error) ?? unreachable(place, error as Error);
  }
}

function unbracketed(host: string): string {
  return host.replaceAll(/[[\]]/g, "");
}

/** Destroys the socket and ignores the errors that it still reports. */
function destroy(socket: Socket): void {
  socket.on("error", () => undefined);
  socket.destroy();
}

export function unreachable(place: string, cause: Error): RunnelError {
  const code = (cause as { code?: unknown }).code;
  const why = code === "ECONNREFUSED" ? "nothing listens there" : cause.message || String(code);
  return new RunnelError("Unreachable", "dial", `Cannot reach a server at ${place}: ${why}.`, { cause });
}

/** Something listens there, and it is no server of ours or hangs. */
export function silent(place: string, cause: unknown): RunnelError {
  const sentence = `${place} takes connections but does not answer as a server.`;
  return new RunnelError("Unreachable", "connect", sentence, { cause });
}
