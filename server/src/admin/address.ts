// The address of the server that an invite names: others seldom reach it by what it listens on.
import { RunnelError } from "@runnel/shared/base";

const EVERY_ADDRESS = new Set(["0.0.0.0", "[::]"]);

/** host:port. `asked`: host or host:port. @throws RunnelError Invalid */
export function addressFor(url: string, asked: string | undefined, hostname: string): string {
  const listening = new URL(url);
  const own = EVERY_ADDRESS.has(listening.hostname) ? hostname : listening.hostname;
  const { hostname: host, port } = parsed(asked ?? own);
  return `${host}:${port === "" ? listening.port : port}`;
}

function parsed(typed: string): URL {
  // The made-up scheme keeps the port: such a parser drops the usual port of a scheme that it knows.
  const url = URL.parse(`runnel-address://${typed}`);
  const isBare = url !== null && url.pathname === "" && url.search === "" && url.hash === "" && url.username === "";
  if (!isBare || !/^(\[[\da-f:.]+\]|[\w.-]+)$/i.test(url.hostname)) {
    throw new RunnelError(
      "Invalid",
      "invite",
      `"${typed}" is not an address. Write HOST or HOST:PORT: files.example.org.`,
    );
  }
  return url;
}
