// Keeps the servers that know this device: by what it tells them from others, and what it shows them. Read anew
// whenever it is asked, so that a login is used from the next connection on.
import type { ServerTrust } from "@runnel/shared";
import { addressOf, placeOf } from "@runnel/shared/base";
import { volumeOf } from "../control/index.ts";
import { type KnownServer, readServers, writeServers } from "./host/servers-file.ts";
import type { KnownPlace } from "./login-schemas.ts";

export class KnownServers {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  find(place: string): KnownServer | undefined {
    return readServers(this.#path).find((server) => server.place === place);
  }

  /** Lists them without their secrets. */
  list(): KnownPlace[] {
    return readServers(this.#path).map(({ place, device, volumes }) => ({ server: place, device, volumes }));
  }

  places(): string[] {
    return readServers(this.#path).map(({ place }) => place);
  }

  trustOf(place: string): ServerTrust {
    const { fingerprint, proxy, authorities } = this.find(place) ?? {};
    return { fingerprint, proxy, authorities };
  }

  /** Token for the server of a mount URL; plain ws, which stays on this machine, gets none. */
  tokenFor(url: string): string | undefined {
    const address = addressOf(url);
    return address.isSecure ? this.find(placeOf(address))?.token : undefined;
  }

  /** Right that the server gave at the login, or at a drive since. */
  isReadOnly(url: string): boolean {
    const address = addressOf(url);
    if (!address.isSecure) return false;
    const volume = volumeOf(new URL(url));
    return this.find(placeOf(address))?.volumes.find(({ name }) => name === volume)?.isReadOnly ?? false;
  }

  /** Keeps another right than before, which the server has given this device there. */
  learnRight(url: string, isReadOnly: boolean): void {
    const server = this.find(placeOf(addressOf(url)));
    if (server === undefined) return;
    const volume = volumeOf(new URL(url));
    const others = server.volumes.filter(({ name }) => name !== volume);
    this.keep({ ...server, volumes: [...others, { name: volume, isReadOnly }] });
  }

  /** Durable when it returns. */
  keep(server: KnownServer): void {
    const others = readServers(this.#path).filter(({ place }) => place !== server.place);
    writeServers(this.#path, [...others, server]);
  }

  /** Durable when it returns: its token is nowhere here any more. */
  forget(forgotten: string): void {
    const others = readServers(this.#path).filter(({ place }) => place !== forgotten);
    writeServers(this.#path, others);
  }
}
