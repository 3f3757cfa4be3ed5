// Keeps the servers that know this device: by what it tells them from others, and what it shows them. Read anew
// whenever it is asked, so that a login is used from the next connection on. Tokens lie in the system's store where
// that opens, else in the file (F92, F230).
import type { ServerTrust } from "@runnel/shared";
import { addressOf, isRunnelError, placeOf, RunnelError } from "@runnel/shared/base";
import { volumeOf } from "../control/index.ts";
import type { Secrets } from "../secrets/secrets.ts";
import { type KnownServer, readServers, writeServers } from "./host/servers-file.ts";
import type { KnownPlace } from "./login-schemas.ts";

/** A server at login: with its token. */
export type LoggedInServer = Omit<KnownServer, "secret"> & { token: string };

/** Places of tokens, for a person. */
export interface TokenPlaces {
  inFile: number;
  /** Place of a store, how many it has, and why it does not open; undefined when it does. */
  inStores: { place: string; count: number; closed: string | undefined }[];
}

export class KnownServers {
  readonly #path: string;
  readonly #secrets: () => Promise<Secrets>;
  /** Servers whose tokens were looked after by this process. */
  readonly #settled = new Set<string>();
  /** Ends with the last change of a token: they come one after the other. */
  #turn: Promise<void> = Promise.resolve();

  constructor(path: string, secrets: () => Promise<Secrets>) {
    this.#path = path;
    this.#secrets = secrets;
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

  /**
   * Token for the server of a mount URL; plain ws, which stays on this machine, gets none. @throws RunnelError
   * Unreachable while the store that has it does not open; Lost when that has it no more.
   */
  async tokenFor(url: string): Promise<string | undefined> {
    const address = addressOf(url);
    if (!address.isSecure) return undefined;
    const server = this.find(placeOf(address));
    if (server === undefined) return undefined;
    const token = await this.tokenOf(server);
    // Tried once. Nobody waits for it, and whatever comes of it, the token is where it was or where it is to be.
    if (!this.#settled.has(server.place)) this.settle(server.place).catch(() => undefined);
    this.#settled.add(server.place);
    return token;
  }

  /** @throws as tokenFor. */
  async tokenOf({ token, secret, place }: KnownServer): Promise<string> {
    if (token !== undefined) return token;
    if (secret === undefined) throw lost(place, `${this.#path} has no token.`);
    try {
      return await (await this.#secrets()).find(secret);
    } catch (error) {
      if (isRunnelError(error, "Lost")) throw lost(place, error.message, error);
      throw error;
    }
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
    this.#replace(server.place, { ...server, volumes: [...others, { name: volume, isReadOnly }] });
  }

  /** Durable when it resolves. @throws RunnelError, and nothing is changed then. */
  keep(server: LoggedInServer): Promise<void> {
    return this.#inTurn(async (secrets) => {
      const before = this.find(server.place);
      const isSame = before !== undefined && (await this.#hasToken(before, server.token));
      const { token, ...rest } = server;
      if (isSame) {
        const { token: inFile, secret } = before;
        this.#replace(server.place, { ...rest, ...where(inFile, secret) });
        return;
      }
      const reference = await secrets.keep(token);
      this.#replace(server.place, { ...rest, ...where(reference === undefined ? token : undefined, reference) });
      await this.#drop(secrets, before?.secret);
    });
  }

  /**
   * Durable when it resolves: nothing here leads to its token any more. @returns false when the store that had it did
   * not open, so that it is still there, under a name that nobody knows.
   */
  forget(forgotten: string): Promise<boolean> {
    return this.#inTurn(async (secrets) => {
      const { secret } = this.find(forgotten) ?? {};
      this.#replace(forgotten, undefined);
      return this.#drop(secrets, secret);
    });
  }

  /** Moves a token to where tokens are to be here, if it is elsewhere. It is in one of both places at any moment. */
  settle(place: string): Promise<void> {
    return this.#inTurn(async (secrets) => {
      const server = this.find(place);
      if (server === undefined) return;
      const { token: inFile, secret, ...rest } = server;
      if (secret !== undefined && secrets.isAtBest(secret)) return;
      if (secret === undefined && secrets.bestPlace === undefined) return;
      const token = inFile ?? (await this.tokenOf(server));
      const reference = await secrets.keep(token);
      if (reference === undefined && inFile !== undefined) return;
      // A right may have been learned meanwhile.
      const volumes = this.find(place)?.volumes ?? rest.volumes;
      const kept = where(reference === undefined ? token : undefined, reference);
      this.#replace(place, { ...rest, volumes, ...kept });
      await this.#drop(secrets, secret);
    });
  }

  /** Tells where the tokens are. */
  async tokenPlaces(): Promise<TokenPlaces> {
    const secrets = await this.#secrets();
    const found: TokenPlaces = { inFile: 0, inStores: [] };
    for (const server of readServers(this.#path)) {
      if (server.secret === undefined) {
        found.inFile++;
        continue;
      }
      const place = secrets.placeOf(server.secret);
      const closed = await this.tokenOf(server).then(
        () => undefined,
        (error: Error) => error.message,
      );
      const same = found.inStores.find((each) => each.place === place && each.closed === closed);
      if (same === undefined) found.inStores.push({ place, count: 1, closed });
      else same.count++;
    }
    return found;
  }

  async #hasToken(server: KnownServer, token: string): Promise<boolean> {
    return (await this.tokenOf(server).catch(() => undefined)) === token;
  }

  /** @returns false when the store does not open. */
  async #drop(secrets: Secrets, reference: string | undefined): Promise<boolean> {
    if (reference === undefined) return true;
    return secrets.drop(reference).then(
      () => true,
      () => false,
    );
  }

  #replace(place: string, server: KnownServer | undefined): void {
    const others = readServers(this.#path).filter((each) => each.place !== place);
    writeServers(this.#path, server === undefined ? others : [...others, server]);
  }

  #inTurn<T>(change: (secrets: Secrets) => Promise<T>): Promise<T> {
    const done = this.#turn.then(async () => change(await this.#secrets()));
    this.#turn = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }
}

function where(token: string | undefined, secret: string | undefined): Pick<KnownServer, "token" | "secret"> {
  return { ...(token === undefined ? {} : { token }), ...(secret === undefined ? {} : { secret }) };
}

/** The server still knows the device, but this device cannot show that it is the one. */
function lost(place: string, why: string, cause?: unknown): RunnelError {
  const sentence = `The login at ${place} is gone: ${why} Ask for a new invite, and log in again.`;
  return new RunnelError("Denied", "log in", sentence, { cause });
}
