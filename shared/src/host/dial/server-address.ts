// Address of a server: host and port of a mount URL, and the rule for when plain ws may go there.
import { RunnelError } from "../../errors.ts";

export interface ServerAddress {
  /** Host as in a URL: an IPv6 address has its brackets. */
  host: string;
  port: number;
  isSecure: boolean;
}

const WS_PORT = 80;
const WSS_PORT = 443;

/**
 * Reads the address out of a mount URL, whose path names a volume and is not for the dialer. @throws RunnelError
 * Invalid; Denied for plain ws beyond loopback.
 */
export function addressOf(url: string): ServerAddress {
  const parsed = URL.parse(url);
  if (parsed === null || parsed.hostname === "" || !/^wss?:$/.test(parsed.protocol)) {
    throw new RunnelError("Invalid", "dial", "A server's address looks like wss://HOST:PORT/VOLUME.");
  }
  const isSecure = parsed.protocol === "wss:";
  if (!isSecure && !isLoopback(parsed.hostname)) throw notLoopback(parsed.hostname);
  const port = parsed.port === "" ? (isSecure ? WSS_PORT : WS_PORT) : Number(parsed.port);
  return { host: parsed.hostname, port, isSecure };
}

/** host:port, always with the port: what a server is known by. */
export function placeOf({ host, port }: ServerAddress): string {
  return `${host}:${port}`;
}

/** 127.0.0.0/8, ::1, localhost; IPv6 with or without brackets, IPv4 also as the kernel shows it on a socket of both. */
export function isLoopback(host: string): boolean {
  return /^(localhost|(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|\[::1\])$/i.test(host);
}

export function notLoopback(host: string): RunnelError {
  return new RunnelError(
    "Denied",
    "dial",
    `Runnel sends nothing unencrypted to other machines: use wss://${host}, and log in with an invite from whoever runs the server.`,
  );
}
