// Finds the message bus of the user's session (D-Bus Specification, "Server Addresses").
import { existsSync } from "node:fs";

type Environment = Readonly<Record<string, string | undefined>>;

/** Says where the bus of the session is. @returns undefined when there is none. */
// oxlint-disable-next-line node/no-sync -- one look, when an agent starts
export function sessionBusAddress(environment: Environment = process.env, isThere = existsSync): string | undefined {
  const said = environment["DBUS_SESSION_BUS_ADDRESS"];
  if (said !== undefined && said !== "") return localAddress(said);
  const runtime = environment["XDG_RUNTIME_DIR"];
  if (!runtime?.startsWith("/") || !isThere(`${runtime}/bus`)) return undefined;
  return `unix:path=${runtime}/bus`;
}

/** The first address that is a socket of this machine: others name a computer, or a program to run. */
function localAddress(said: string): string | undefined {
  for (const address of said.split(";")) {
    const [, kind, name] = /^unix:(?:.*,)?(path|abstract)=([^,]+)/.exec(address) ?? [];
    if (name === undefined) continue;
    const path = unescaped(name);
    // The library takes a name in the abstract space by a package that is not here, and any path by `socket`.
    return kind === "path" ? `unix:path=${path}` : `unix:socket=\0${path}`;
  }
  return undefined;
}

/** Bytes of an address are written as %XX (D-Bus Specification, "Server Addresses"). */
function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
