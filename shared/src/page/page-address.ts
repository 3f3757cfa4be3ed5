// Addresses that requests of pages come from.
import type { IncomingMessage } from "node:http";
import type { Context } from "hono";

/** Returns "" where all come from this machine's loopback, and nobody says. */
export function addressOf(context: Context): string {
  const env = context.env as { incoming?: IncomingMessage } | undefined;
  return env?.incoming?.socket.remoteAddress ?? "";
}
