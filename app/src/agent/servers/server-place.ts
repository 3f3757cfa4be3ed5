// A server as a person names it: HOST:PORT, or the address of any volume of it.
import { addressOf, placeOf, RunnelError } from "@runnel/shared/base";

/** host:port, as known-servers.ts knows it. @throws RunnelError Invalid. */
export function serverPlace(typed: string): string {
  const url = /^wss:\/\//i.test(typed) ? typed : `wss://${typed}`;
  const parsed = URL.parse(url);
  const isBare = parsed?.username === "" && parsed.password === "" && parsed.search === "" && parsed.hash === "";
  if (!isBare || typed.replace(/^wss:/i, "").slice(2).includes("//") || /[\p{Cc}\s]/u.test(typed))
    throw new RunnelError("Invalid", "logout", `"${typed}" is not a server. Write HOST:PORT: files.example.org:7473.`);
  return placeOf(addressOf(url));
}
