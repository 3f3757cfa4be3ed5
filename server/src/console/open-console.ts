// Opens the console of a server that listens.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Clock, wallMs } from "@runnel/shared";
import { addressFor } from "../admin/address.ts";
import type { Security } from "../auth/security.ts";
import { SignInTries } from "../auth/sign-in-tries.ts";
import { Views } from "./views.ts";
import type { Engines } from "../engines.ts";
import type { RunningServer, ServerSettings } from "../server-api.ts";
import { VERSION } from "../version.ts";
import { ConsoleHosts } from "./console-hosts.ts";
import { ConsoleSessions } from "./console-sessions.ts";
import { Console } from "./console.ts";

/** Folder of the built pages. */
const BUILT_FOLDER = fileURLToPath(new URL("../../console/dist", import.meta.url));
const ENTRY_FOLDER = "console";

export interface ConsoleOpening {
  server: RunningServer;
  security: Security;
  engines: Engines;
  clock: Clock;
  settings: ServerSettings;
  warn(message: string, error?: unknown): void;
}

export interface OpenedConsole {
  console: Console;
  urls: Exclude<RunningServer["console"], undefined>;
}

export function openConsole({ server, security, engines, clock, settings, warn }: ConsoleOpening): OpenedConsole {
  const { hostname, addresses = [], dataFolder, tls } = settings;
  const { port, host: listen } = new URL(server.url.replace(/^ws/, "http"));
  const known = addressFor(server.url, addresses[0], hostname);
  const hosts = new ConsoleHosts({
    port: Number(port) || 443,
    hostname,
    addresses: [known, ...addresses],
    certificate: () => security.identity?.certificate,
  });
  const { people } = security;
  const sessions = new ConsoleSessions(clock);
  const facts = { version: VERSION, listen, addresses: [known, ...addresses.slice(1)], dataFolder };
  const console = new Console(
    {
      server,
      security,
      hostname,
      people,
      engines,
      tries: new SignInTries(clock),
      sessions,
      views: new Views({ clock, engines, people }),
      clock,
      facts,
      startedMs: wallMs(clock),
    },
    { hosts, builtFolder: BUILT_FOLDER, entryFolder: join(security.folder, ENTRY_FOLDER), warn },
  );
  const url = tls === undefined ? undefined : `https://${known}/`;
  const urls = {
    url,
    get setUpLink() {
      const token = console.setUpToken;
      return url === undefined || token === undefined ? undefined : `${url}#setup=${token}`;
    },
  };
  return { console, urls };
}
