// A drive's colleagues: other devices that use the same volume, with which it shares what is in its cache (C2Cfs). Off
// until a person wants it; nothing is given away while the drive is paused, nor asked while somebody calls the line
// metered.
import { type Clock, type Dialer, type Executor, isRunnelError } from "@runnel/shared";
import type { Cache } from "../cache/cache.ts";
import type { Following, LineCost } from "../control/host/line-cost/line-cost.ts";
import type { MountSettings } from "../mount.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Sources } from "../transfer/sources/sources.ts";
import type { Session } from "../wire/session.ts";
import { Announcer, type Place } from "./announcer.ts";
import { ColleagueSource } from "./colleague-source.ts";
import type { ColleagueDoor } from "./door.ts";
import type { Nearby } from "./nearby/nearby.ts";
import { Offer, textOf } from "./offer.ts";
import { UploadLimit } from "./upload-limit.ts";

/** This device, as its colleagues know it: made once for an agent. */
export interface DeviceAtHome {
  door: ColleagueDoor;
  /** Fingerprint of its key: made when it is first needed. */
  key(): Promise<Uint8Array>;
  /** Dials whoever has that key, and shows this device's own. Only after `key`. */
  dialerFor(fingerprint: string): Dialer;
  /** Addresses at which others may reach it. */
  addresses(): string[];
  /** The system's word on the line. */
  lineCost: LineCost;
  /** Devices on the network at hand, by mDNS. Left out: nobody says or hears anything there. */
  nearby?: Nearby;
}

export interface ColleaguesDeps {
  settings: Pick<MountSettings, "colleagues" | "colleaguesUpBytes" | "isMetered">;
  cache: Cache;
  clock: Clock;
  executor: Executor;
  session: Pick<Session, "inBackground" | "isConnected" | "isSuspended" | "features">;
  sources: Sources;
  /** Folders that are paused: nothing in them is said to be here, or given away. */
  pauses: Pick<Passages, "isPaused">;
  /** Left out where there is no such device: there are no colleagues then. */
  device?: DeviceAtHome;
  epoch(): string;
  software: string;
  log(message: string, error?: unknown): void;
  /** A person is told of whoever lies. */
  problem(sentence: string): void;
}

export class Colleagues {
  readonly source: ColleagueSource;
  readonly #deps: ColleaguesDeps;
  readonly offer: Offer;
  readonly #announcer: Announcer;
  #isClosed = false;
  #asked: Disposable | undefined;
  /** The system's word on the line, while it counts. */
  #following: Following | undefined;
  #turn: Promise<void> = Promise.resolve();

  constructor(deps: ColleaguesDeps) {
    this.#deps = deps;
    const { settings, clock } = deps;
    const limit = new UploadLimit(clock, () => settings.colleaguesUpBytes);
    this.offer = new Offer({
      ...deps,
      limit,
      isOpen: () => this.#isOn,
      isPaused: (node) => deps.pauses.isPaused([node]),
    });
    this.#announcer = new Announcer({
      ...deps,
      spansOf: (content) => this.offer.spansOf(content),
      areThere: (areThere) => this.areThere(areThere),
      answered: (ticketKey, nowMs) => this.offer.trust(deps.epoch(), ticketKey, nowMs),
    });
    this.source = new ColleagueSource({
      ...deps,
      isOpen: () => this.#isOn,
      dialerFor: (fingerprint) => {
        if (deps.device === undefined) throw new Error("there is no device to dial from");
        return deps.device.dialerFor(fingerprint);
      },
      nearby: async (fingerprint, signal) => (await deps.device?.nearby?.find(fingerprint, signal)) ?? [],
    });
  }

  /** The server is there again, or the setting is another one. */
  changed(): void {
    this.#turn = this.#turn
      .then(() => this.#follow())
      .catch((error: unknown) => {
        this.#deps.log("Colleagues cannot reach this drive.", error);
      });
  }

  /** Asks colleagues from now on, or no more: without any a download is as it is without this file. */
  areThere(areThere: boolean): void {
    const asks = areThere && this.#isOn;
    if (asks === (this.#asked !== undefined)) return;
    this.#asked?.[Symbol.dispose]();
    this.#asked = asks ? this.#deps.sources.add(this.source) : undefined;
  }

  /** They are wanted, and rest since the line is metered. */
  get restsForLine(): boolean {
    return this.#isWanted && this.#isMetered;
  }

  /** Resolves when all that the settings said is done. */
  settled(): Promise<void> {
    return this.#turn;
  }

  disconnected(): void {
    this.areThere(false);
    this.#announcer.disconnected();
    this.source.disconnected();
    if (this.#deps.session.isSuspended) this.changed();
  }

  /** Some of a content has come. */
  stored(id: number): void {
    this.#announcer.stored(id);
  }

  /** Folders are paused, or no more: the server is told what of them others may have. */
  pausesChanged(): void {
    this.#announcer.again();
  }

  /** The server says that a device has lost its right. */
  shutOut(key: Uint8Array): void {
    this.offer.shutOut(key);
    this.#deps.device?.door.shutOut(key);
  }

  /** Resolves when nothing is given away any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.areThere(false);
    this.#announcer.close();
    this.source.close();
    this.changed();
    await this.#turn;
    this.#following?.[Symbol.dispose]();
  }

  get #isWanted(): boolean {
    const { settings, device } = this.#deps;
    const isOf = settings.colleagues === "network" || settings.colleagues === "everyone";
    return isOf && device !== undefined && !this.#isClosed;
  }

  get #isMetered(): boolean {
    const { settings, device } = this.#deps;
    return settings.isMetered ?? device?.lineCost.isMetered ?? false;
  }

  get #isOn(): boolean {
    return this.#isWanted && !this.#deps.session.isSuspended && !this.#isMetered;
  }

  /** Follows what the system says of the line for as long as that counts. */
  async #followLine({ lineCost }: DeviceAtHome): Promise<void> {
    if (this.#isWanted && this.#deps.settings.isMetered === undefined) {
      this.#following ??= lineCost.follow(() => this.changed());
      await this.#following.answered;
    } else {
      this.#following?.[Symbol.dispose]();
      this.#following = undefined;
    }
  }

  async #follow(): Promise<void> {
    const { settings, device } = this.#deps;
    if (device === undefined) return;
    await this.#followLine(device);
    const { colleagues: reach } = settings;
    if (!this.#isOn || reach === undefined || reach === "off") {
      this.areThere(false);
      this.source.close();
      await device.nearby?.close(this.offer);
      await device.door.close(this.offer);
      if (this.#announcer.isKnown)
        await this.#announce({ key: await device.key(), port: 0, addresses: [], reach: "network" });
      return;
    }
    if (!this.#announcer.canAnnounce) return;
    const key = await device.key();
    const port = await device.door.open(this.offer);
    if (reach === "network") device.nearby?.open(this.offer, { key: textOf(key), port });
    else await device.nearby?.close(this.offer);
    await this.#announce({ key, port, addresses: device.addresses(), reach });
  }

  async #announce(place: Place): Promise<void> {
    try {
      await this.#announcer.announce(place);
    } catch (error) {
      // It is said again with the next connection.
      if (!isRunnelError(error, "Unreachable")) throw error;
    }
  }
}
