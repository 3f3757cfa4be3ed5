// Disturbs lines, agents and the server of a recorded run, at moments and in an order that hang on the seed.
import { setTimeout as pause } from "node:timers/promises";
import type { SeededRandom } from "@runnel/shared";
import type { RecordedClient } from "./recorded-client.ts";
import type { RecordedServer } from "./recorded-server.ts";

export const DISTURBANCES = [
  /** A line's connections are reset; new ones pass at once. */
  "cut",
  /** Reset, and new ones are refused for a while. */
  "noNetwork",
  /** Nothing passes for a while, and nobody is told. */
  "blackHole",
  /** SIGKILL of an agent, which starts again. */
  "kill",
  /** The same, and its home is gone: it comes back as another device. */
  "newDevice",
  /** SIGKILL of the server, which starts again. */
  "serverKill",
  /** The same without anybody being told; one client's line stays silent for a while when the server is back. */
  "serverPowerCut",
] as const;

export type Disturbance = (typeof DISTURBANCES)[number];

export interface DisturbanceSettings {
  kinds: readonly Disturbance[];
  /** From the begin of one to that of the next. */
  betweenMs: readonly [number, number];
  lastsMs: readonly [number, number];
  /** Count of clients, the first ones, that are disturbed. */
  clients: number;
}

export class Disturbances {
  readonly log: string[] = [];
  private readonly server: RecordedServer;
  private readonly clients: readonly RecordedClient[];
  private readonly random: SeededRandom;
  private readonly settings: DisturbanceSettings;
  private readonly underWay = new Set<Promise<void>>();
  private deck: Disturbance[] = [];
  private isServerDown = false;

  constructor(
    server: RecordedServer,
    clients: readonly RecordedClient[],
    random: SeededRandom,
    settings: DisturbanceSettings,
  ) {
    this.server = server;
    this.clients = clients;
    this.random = random;
    this.settings = settings;
  }

  /**
   * Makes disturbances one after another, and some at once, until told to end; resolves when all is as it was. @throws
   * what went wrong.
   */
  async until(isOver: () => boolean): Promise<void> {
    const { random, settings } = this;
    const victims = this.clients.slice(0, settings.clients);
    const between = (range: readonly [number, number]): number => range[0] + random.below(range[1] - range[0]);
    const beganMs = performance.now();
    while (settings.kinds.length > 0) {
      await pause(between(settings.betweenMs));
      if (isOver()) break;
      const kind = this.next();
      const client = victims[random.below(victims.length)];
      const lastsMs = between(settings.lastsMs);
      if (client === undefined || client.isDisturbed || (kind.startsWith("server") && this.isServerDown)) continue;
      this.log.push(`${Math.round(performance.now() - beganMs)} ${client.name} ${kind} ${lastsMs}`);
      const one = this.one(kind, client, lastsMs);
      this.underWay.add(one);
      one.then(
        () => this.underWay.delete(one),
        () => undefined,
      );
    }
    await Promise.all(this.underWay);
  }

  /** Each of them comes before one comes again. */
  private next(): Disturbance {
    const { random } = this;
    if (this.deck.length === 0) this.deck = [...this.settings.kinds];
    const [kind = "cut"] = this.deck.splice(random.below(this.deck.length), 1);
    return kind;
  }

  private async one(kind: Disturbance, client: RecordedClient, lastsMs: number): Promise<void> {
    if (kind === "serverKill") return this.restart();
    if (kind === "serverPowerCut") return this.cutPower(client, lastsMs);
    client.isDisturbed = true;
    try {
      const { link } = client;
      if (kind === "cut") return await link.cut("accept");
      if (kind === "kill" || kind === "newDevice") return await client.kill(kind === "newDevice");
      if (kind === "noNetwork") await link.cut("refuse");
      else await link.blackHole();
      await pause(lastsMs);
      await link.restore();
    } finally {
      client.isDisturbed = false;
    }
  }

  private async restart(): Promise<void> {
    this.isServerDown = true;
    await this.server.kill();
    await this.server.start();
    this.isServerDown = false;
  }

  private async cutPower(last: RecordedClient, lastsMs: number): Promise<void> {
    const silenced = this.clients.filter(({ isDisturbed }) => !isDisturbed);
    for (const client of silenced) client.isDisturbed = true;
    await Promise.all(silenced.map(({ link }) => link.blackHole()));
    await this.restart();
    for (const client of silenced) {
      if (client === last) continue;
      await client.link.restore();
      client.isDisturbed = false;
    }
    await pause(lastsMs);
    await last.link.restore();
    last.isDisturbed = false;
  }
}
