// Hosts under which browsers may show the console. A name that somebody else has bound to this machine is none.
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";

const HTTPS_PORT = 443;

export interface HostsSettings {
  /** Port that the server listens on. */
  port: number;
  /** Name of this machine. */
  hostname: string;
  /** Further ones that the server was told of, as HOST or HOST:PORT. */
  addresses: readonly string[];
  /** PEM; the names that it vouches for are good. */
  certificate(): string | undefined;
  /** Addresses of this machine. */
  ownAddresses?(): string[];
}

export class ConsoleHosts {
  readonly #settings: HostsSettings;

  constructor(settings: HostsSettings) {
    this.#settings = settings;
  }

  /** `host`: of a request, as a browser says it. */
  has(host: string): boolean {
    const { port, addresses } = this.#settings;
    const { name, port: asked } = parsed(host.toLowerCase());
    if (name === "") return false;
    const own = new Set(addresses.map((address) => withPort(address.toLowerCase(), port)));
    return own.has(`${name}:${asked}`) || (asked === port && this.#isOwnName(name));
  }

  #isOwnName(name: string): boolean {
    const { hostname, certificate, ownAddresses = interfaceAddresses } = this.#settings;
    if (name === "localhost" || name === hostname.toLowerCase()) return true;
    const bare = name.replace(/^\[(.*)\]$/, "$1");
    if (isIP(bare) !== 0) return bare === "127.0.0.1" || bare === "::1" || ownAddresses().includes(bare);
    const pem = certificate();
    return pem !== undefined && new X509Certificate(pem).checkHost(name) !== undefined;
  }
}

/** A browser leaves the usual port out. "" where it is no host. */
function parsed(host: string): { name: string; port: number } {
  const [, name = "", port] = /^(\[[\da-f:.]+\]|[\w.-]+)(?::(\d{1,5}))?$/.exec(host) ?? [];
  return { name, port: port === undefined ? HTTPS_PORT : Number(port) };
}

function withPort(address: string, port: number): string {
  return /:\d+$/.test(address) && !address.endsWith("]") ? address : `${address}:${port}`;
}

function interfaceAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address));
}
