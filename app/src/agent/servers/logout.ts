// Forgets a server: what this device shows it, and what it knows it by. The server goes on knowing the device until it
// is revoked there.
import { RunnelError } from "@runnel/shared/base";
import type { KnownServers } from "./known-servers.ts";
import type { LoggedOut } from "./login-schemas.ts";

/** @throws RunnelError NotFound, naming the servers that are known. */
export async function logout(place: string, servers: KnownServers): Promise<LoggedOut> {
  const known = servers.find(place);
  if (known === undefined) {
    const places = servers.places();
    const others = places.length === 0 ? "It knows none." : `It knows ${places.join(", ")}.`;
    throw new RunnelError("NotFound", "logout", `This device is not logged in at ${place}. ${others}`);
  }
  const isGone = await servers.forget(place);
  return { server: place, device: known.device, isTokenGone: isGone };
}
