// Settings of a server, and the running server that comes of them.
import type { Security } from "./auth/security.ts";
import type { NetworkSettings } from "./colleagues/named-networks.ts";
import type { Opener } from "./volume/openers.ts";

export interface VolumeSettings {
  name: string;
  /** The folder to be served, as it is; while it is not there, the volume waits for it. */
  folder: string;
  /** True when clients of an earlier process may still hold leases: the first commits wait for a term. */
  hadClients?: boolean;
}

export interface ServerSettings {
  volumes: VolumeSettings[];
  /** Folders below which volumes can be made while the server runs; none by default. */
  offer?: readonly string[];
  /** Folders of which uploads need not bring what they have. */
  supplies?: readonly string[];
  /** Networks whose clients are colleagues of each other, and of nobody else's (W196). */
  networks?: readonly NetworkSettings[];
  /** Names of volumes whose folder is adopted at this start where it is not the volume's [F113]. */
  adopt?: readonly string[];
  host: string;
  /** Port to listen on; 0 stands for any that is free. */
  port: number;
  /** Folder of the commit logs, meta stores and chunk indexes; made if it is missing. */
  dataFolder: string;
  /** Name of this machine, for a certificate of the server's own. */
  hostname: string;
  /** Absent on loopback, where programs of this user need no TLS; other devices use it there too. */
  tls?: TlsSettings;
  /** Path of the secret that such programs prove to know; by default in the user's runtime folder. */
  secretPath?: string;
  /** Lease term in milliseconds. */
  termMs?: number;
  /**
   * True when files on disk get the owners that drives show, which only root can do; by default they belong to the
   * server's user.
   */
  keepsOwners?: boolean;
  /** User that root becomes once it listens: the data folder is given to it, and folders are opened as it. */
  user?: string;
  /** Hosts under which browsers find the console, besides what is known of this machine: HOST or HOST:PORT. */
  addresses?: readonly string[];
  /** Connections at a time; by default LIMITS.connections. */
  connections?: number;
  /** Receives what a person running the server should know; by default it goes to the console. */
  warn?: (message: string, error?: unknown) => void;
}

export interface TlsSettings {
  /** PEM files of the administrator's own; by default the server makes a key of its own when it is first needed. */
  given?: { certificatePath: string; keyPath: string };
}

export interface OfferedVolume {
  readonly name: string;
  readonly folder: string;
  /** Undefined while it cannot be served. */
  readonly volume: { readonly epoch: string } | undefined;
  /** The reason why it cannot be served now. */
  readonly unavailable: string | undefined;
}

export interface RunningServer {
  /** ws://host:port or wss://host:port */
  readonly url: string;
  /** Undefined where another server of this user has the devices of its data folder. */
  readonly security: Pick<Security, "fingerprint"> | undefined;
  /** Undefined where there are no devices. */
  readonly console: { readonly url: string | undefined; readonly setUpLink: string | undefined } | undefined;
  /** True while a connection of this device is open. */
  connected(device: string): boolean;
  readonly volumes: readonly OfferedVolume[];
  /**
   * Lists who has a volume open, or the folder or file at a path in it ("": the volume). @throws RunnelError NotFound;
   * Unavailable, Busy when the volume is not open now.
   */
  openers(volume: string, path: string): Promise<Opener[]>;
  close(): Promise<void>;
}
