// runnel serve: the server, in this process, until a signal ends it.
import { flushCompileCache } from "node:module";
import { hostname } from "node:os";
import { LIMITS, RunnelError, isLoopback, keepHeapSmall } from "@runnel/shared/base";
import type { NetworkSettings, ServerSettings, VolumeSettings } from "@runnel/server";
import type { Command } from "commander";
import { AgentHome } from "../../agent/control/index.ts";
import { endOfService } from "../end-of-service.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

const LISTEN_DEFAULT = "127.0.0.1:7473";
const PORT_MAX = 65_535;
const TERM_SECONDS_DEFAULT = 20;
const TERM_SECONDS_MAX = 600;
const CONNECTIONS_MAX = 100_000;
const ROOT_WARNING =
  "The server runs as root. It makes no set-uid files, devices or other users' files for clients; safer still is a user of its own: --user NAME.";

export function addServe(program: Command, output: Output): void {
  addVerb(program, "serve", "Serves folders as volumes until Ctrl-C. The folders stay plain folders.", [
    "serve --volume docs=/srv/docs",
    "serve --volume docs=/srv/docs --listen 0.0.0.0:7473",
    "serve --offer /srv",
  ])
    .option("--volume <name=folder...>", "a folder and the name it is served by; may be given again")
    .option(
      "--offer <folder...>",
      "folders in it can be made volumes while the server runs, and are served again by the next; may be given again",
    )
    .option(
      "--listen <host:port>",
      "where to listen: beyond loopback with TLS, for devices with an invite",
      LISTEN_DEFAULT,
    )
    .option("--tls", "the same on loopback, where this user's programs are let in without it otherwise")
    .option("--cert <file>", "a certificate of an authority in PEM form, with its chain (default: the server's own)")
    .option("--key <file>", "the certificate's private key in PEM form")
    .option(
      "--secret <file>",
      "without TLS: where the secret lies that this user's programs prove to know (default: where only they look)",
    )
    .option(
      "--adopt <name...>",
      "takes the volume's folder in anew, as it is, after the loss of its data or from a backup: says what that loses; nothing where it fits",
    )
    .option(
      "--supply <folder...>",
      "an old copy, or a stick from carry out: uploads need not bring what it has; may be given again",
    )
    .option("--data <dir>", "where logs and indexes lie (default: in the agent's home)")
    .option(
      "--lease-term <seconds>",
      "how long a client may answer from what it knows; a change waits so long for one that has gone silent",
      String(TERM_SECONDS_DEFAULT),
    )
    .option(
      "--user <name>",
      "root gives up its rights once it listens, and serves as this user, who gets the data folder",
    )
    .option(
      "--keep-owners",
      "files of a server that is root belong to whom drives show (default: to the server's user)",
    )
    .option(
      "--address <host...>",
      "a name or address, HOST or HOST:PORT, by which browsers reach the console, where this machine does not know it",
    )
    .option(
      "--network <name=ranges...>",
      "addresses that belong together, for colleagues: berlin=10.1.0.0/16,203.0.113.7; may be given again (default: guessed)",
    )
    .option("--connections <count>", "how many there may be at once", String(LIMITS.connections))
    .action(async (options: ServeOptions) => {
      const { volume = [], offer = [], supply = [] } = options;
      if (volume.length + offer.length === 0)
        throw invalid("There is nothing to serve. Name a folder: --volume docs=/srv/docs, or --offer /srv.");
      const listen = parseListen(options.listen);
      await serve(
        {
          volumes: parseVolumes(volume),
          offer: offer.map((folder) => absolutePath(folder)),
          ...(supply.length === 0 ? {} : { supplies: supply.map((folder) => absolutePath(folder)) }),
          ...(options.network === undefined ? {} : { networks: parseNetworks(options.network) }),
          ...(options.adopt === undefined ? {} : { adopt: options.adopt }),
          ...listen,
          ...securityOf(listen.host, options),
          hostname: hostname(),
          dataFolder: absolutePath(options.data ?? new AgentHome().serverFolder),
          termMs: parseTerm(options.leaseTerm) * 1000,
          connections: parseConnections(options.connections),
          ...(options.address === undefined ? {} : { addresses: parseAddresses(options.address) }),
          ...(options.user === undefined ? {} : { user: options.user }),
          keepsOwners: options.keepOwners === true,
        },
        output,
      );
    });
}

interface ServeOptions {
  volume?: string[];
  offer?: string[];
  adopt?: string[];
  supply?: string[];
  listen: string;
  tls?: true;
  cert?: string;
  key?: string;
  secret?: string;
  data?: string;
  leaseTerm: string;
  connections: string;
  network?: string[];
  address?: string[];
  user?: string;
  keepOwners?: true;
}

/** @throws RunnelError Invalid */
function securityOf(
  host: string,
  { tls, cert, key, secret }: ServeOptions,
): Pick<ServerSettings, "tls" | "secretPath"> {
  if ((cert === undefined) !== (key === undefined)) throw invalid("--cert and --key go together. Name both files.");
  if (tls === undefined && cert === undefined && isLoopback(host))
    return secret === undefined ? {} : { secretPath: absolutePath(secret) };
  if (secret !== undefined) throw invalid("--secret is for a server without TLS: its devices have invites.");
  const given =
    cert === undefined || key === undefined
      ? {}
      : { given: { certificatePath: absolutePath(cert), keyPath: absolutePath(key) } };
  return { tls: given };
}

async function serve(settings: ServerSettings, output: Output): Promise<void> {
  keepHeapSmall();
  const ended = endOfService();
  const { startServer } = await import("@runnel/server");
  const server = await startServer(settings);
  if (process.geteuid?.() === 0) console.error(ROOT_WARNING);
  const volumes = server.volumes.map(({ name, folder, volume, unavailable }) => ({
    name,
    folder,
    url: `${server.url}/${encodeURIComponent(name)}`,
    epoch: volume?.epoch ?? null,
    unavailable: unavailable ?? null,
  }));
  const { security, console: pages } = server;
  const consoleUrl = pages?.url;
  const setUpLink = pages?.setUpLink;
  const isForDevices = settings.tls !== undefined && security !== undefined;
  const fingerprint = isForDevices ? { fingerprint: security.fingerprint ?? null } : {};
  const shown = consoleUrl === undefined ? {} : { console: { url: consoleUrl, setUpLink: setUpLink ?? null } };
  output.result({ url: server.url, volumes, ...fingerprint, ...shown }, () => [
    ...volumes.map(({ name, folder, url, unavailable }) =>
      unavailable === null
        ? `Serving ${name} from ${folder} at ${url}`
        : `Not serving ${name} from ${folder} now: ${unavailable}`,
    ),
    ...(settings.offer ?? []).map((folder) => `Volumes can be made of the folders in ${folder}.`),
    ...(!isForDevices ? [] : [...keyLines(security.fingerprint), "Let somebody in: runnel invite VOLUME"]),
    ...consoleLines(consoleUrl, setUpLink, security !== undefined),
  ]);
  // Kept for the next start: this process may end by a kill.
  flushCompileCache();
  await ended;
  await server.close();
}

function keyLines(fingerprint: string | undefined): string[] {
  return fingerprint === undefined ? [] : [`Its key's fingerprint, which invites carry: ${fingerprint}`];
}

function consoleLines(url: string | undefined, setUpLink: string | undefined, isThere: boolean): string[] {
  if (setUpLink !== undefined) return [`Set the console up in your browser: ${setUpLink}`];
  if (url !== undefined) return [`The console: ${url}`];
  return isThere ? ["Look after it in your browser: runnel console"] : [];
}

/** NAME=FOLDER; which names and folders will do is the server's to say. @throws RunnelError Invalid */
export function parseVolumes(typed: readonly string[]): VolumeSettings[] {
  return typed.map((text) => {
    const [, name, folder] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || folder === undefined)
      throw invalid(`"${text}" names no volume. Write NAME=FOLDER: docs=/srv/docs.`);
    return { name, folder: absolutePath(folder) };
  });
}

/** NAME=RANGE,RANGE; which names and ranges will do is the server's to say. @throws RunnelError Invalid */
export function parseNetworks(typed: readonly string[]): NetworkSettings[] {
  return typed.map((text) => {
    const [, name, ranges] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
    if (name === undefined || ranges === undefined)
      throw invalid(`"${text}" names no network. Write NAME=ADDRESS/BITS: berlin=10.1.0.0/16.`);
    return { name, ranges: ranges.split(",") };
  });
}

/** HOST:PORT, an IPv6 address in brackets. @throws RunnelError Invalid */
export function parseListen(typed: string): Place {
  return hostAndPort(typed) ?? fail(`"${typed}" is not a place to listen. Write HOST:PORT: ${LISTEN_DEFAULT}.`);
}

export interface Place {
  host: string;
  port: number;
}

/** HOST:PORT, an IPv6 address in brackets; undefined for anything else. */
export function hostAndPort(typed: string): Place | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]\s]+)\]|([^:[\]\s/@]+)):(\d{1,5})$/.exec(typed) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  return host === undefined || port > PORT_MAX ? undefined : { host, port };
}

/** HOST or HOST:PORT each. @throws RunnelError Invalid */
export function parseAddresses(typed: readonly string[]): readonly string[] {
  for (const text of typed)
    if (!/^(\[[\da-f:.]+\]|[\w.-]+)(:\d{1,5})?$/i.test(text))
      throw invalid(`"${text}" is not an address. Write HOST or HOST:PORT: files.example.org.`);
  return typed;
}

/** Whole seconds. @throws RunnelError Invalid */
export function parseTerm(typed: string): number {
  return (
    wholeNumber(typed, TERM_SECONDS_MAX) ??
    fail(`"${typed}" is no lease term. Write whole seconds from 1 to ${TERM_SECONDS_MAX}: ${TERM_SECONDS_DEFAULT}.`)
  );
}

/** @throws RunnelError Invalid */
export function parseConnections(typed: string): number {
  return (
    wholeNumber(typed, CONNECTIONS_MAX) ??
    fail(`"${typed}" is no count of connections. Write one from 1 to ${CONNECTIONS_MAX}: ${LIMITS.connections}.`)
  );
}

/** From 1 on. */
function wholeNumber(typed: string, most: number): number | undefined {
  const number = Number(typed);
  return /^\d+$/.test(typed) && number >= 1 && number <= most ? number : undefined;
}

function fail(sentence: string): never {
  throw invalid(sentence);
}

function invalid(sentence: string): RunnelError {
  return new RunnelError("Invalid", "read the command", sentence);
}
