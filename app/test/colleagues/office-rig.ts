// Devices that share a volume, with real connections between them, and what a server knows of them; without its wire.
import { inlineExecutor } from "@runnel/native";
import { Colleagues as ServerColleagues } from "@runnel/server/internals";
import {
  type Recipe,
  RealClock,
  type RequestOf,
  SimulatedClock,
  type VersionId,
  checkRequest,
  encodeRecipe,
} from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { Colleagues, type DeviceAtHome } from "../../src/agent/colleagues/colleagues.ts";
import { deviceAtHome } from "../../src/agent/colleagues/device-at-home.ts";
import type { MountSettings } from "../../src/agent/mount.ts";
import { Sources } from "../../src/agent/transfer/sources/sources.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import type { WholeContent } from "../transfer/sources/chunk-source-contract.ts";

export const EPOCH = "e".repeat(32);
const clock = new RealClock();
const executor = inlineExecutor();

export class Office {
  /** The server's clock, and that by which tickets are judged. */
  readonly clock = new SimulatedClock();
  readonly recipes = new Map<number, Recipe>();
  readonly server = new ServerColleagues({
    clock: this.clock,
    epoch: EPOCH,
    recipe: async ({ node }: VersionId) => this.recipes.get(node),
  });
  readonly seats: Seat[] = [];

  async seat(name: string, settings: Pick<MountSettings, "colleagues" | "colleaguesUpBytes"> = ON): Promise<Seat> {
    const seat = await Seat.open(this, name, { ...settings });
    this.seats.push(seat);
    return seat;
  }

  /** The server has a content, as version `seq` of a node of its own. */
  has(content: WholeContent): void {
    this.recipes.set(content.version.node, content.recipe);
  }

  async close(): Promise<void> {
    for (const seat of this.seats) await seat.close();
  }
}

const ON = { colleagues: "network" } as const;

/** A device with a drive. */
export class Seat {
  readonly name: string;
  readonly said: string[] = [];
  readonly machine: CacheMachine;
  readonly cache: Cache;
  readonly device: DeviceAtHome;
  readonly colleagues: Colleagues;
  readonly sources: Sources;
  readonly settings: Pick<MountSettings, "colleagues" | "colleaguesUpBytes">;
  isSuspended = false;
  isConnected = true;
  readonly #office: Office;
  /** Its place, as it was announced last. */
  port = 0;
  readonly #listener = {
    shutOut: (key: Uint8Array): void => this.colleagues.shutOut(key),
    colleagues: (areThere: boolean): void => this.colleagues.areThere(areThere),
  };

  private constructor(
    office: Office,
    name: string,
    settings: Pick<MountSettings, "colleagues" | "colleaguesUpBytes">,
    machine: CacheMachine,
    cache: Cache,
  ) {
    this.#office = office;
    this.name = name;
    this.settings = settings;
    this.machine = machine;
    this.cache = cache;
    this.device = deviceAtHome({ home: "/home", disk: machine.disk, clock, executor, software: "Runnel" });
    const log = (message: string): void => void this.said.push(message);
    this.sources = new Sources({ clock, executor, lateMs: () => 2_000, dropped: (_source, sentence) => log(sentence) });
    this.colleagues = new Colleagues({
      settings,
      cache,
      clock,
      executor,
      session: this.session,
      sources: this.sources,
      device: this.device,
      epoch: () => EPOCH,
      software: "Runnel",
      log,
    });
  }

  static async open(office: Office, name: string, settings: Seat["settings"]): Promise<Seat> {
    const machine = new CacheMachine();
    const seat = new Seat(office, name, settings, machine, await machine.open());
    await seat.follow();
    return seat;
  }

  /** Takes the settings as they are now. */
  async follow(): Promise<void> {
    this.colleagues.changed();
    await this.colleagues.settled();
  }

  /** The whole content is in the cache. */
  async keep({ version, sizeBytes, recipe, bytes }: WholeContent): Promise<void> {
    using hold = await this.cache.create(version, sizeBytes);
    const oid = await executor.digest([encodeRecipe(recipe)]);
    const content = this.cache.setRecipe(hold.content, recipe, oid);
    await this.cache.write(content, 0, bytes);
    await this.follow();
  }

  readonly session = new FakeSession(this, (name, body) => this.#ask(name, body));

  async close(): Promise<void> {
    this.#office.server.left(this.#listener);
    await this.colleagues.close();
    await this.cache.close();
    this.machine.clean();
  }

  /** The connection to the server breaks. */
  leave(): void {
    this.#office.server.left(this.#listener);
    this.isConnected = false;
    this.colleagues.disconnected();
  }

  async #ask(name: string, body: object): Promise<unknown> {
    const { server } = this.#office;
    const request = checkRequest(name as "announce", { attachment: 3, ...body });
    const facts = { device: this.name, name: this.name, address: "127.0.0.1" };
    if (name === "locate") {
      const asked = request as unknown as RequestOf<"locate">;
      // The server's clock stands still: nothing is waited for.
      return server.locate(this.#listener, { ...asked, waitMs: 0 }, new AbortController().signal);
    }
    this.port = request.place?.port ?? this.port;
    return server.announce(this.#listener, facts, request);
  }
}

/** The part of a session that colleagues use. */
class FakeSession {
  readonly features = ["colleagues"];
  readonly inBackground: (name: string, body: object) => Promise<unknown>;
  readonly #seat: Pick<Seat, "isConnected" | "isSuspended">;

  constructor(seat: Pick<Seat, "isConnected" | "isSuspended">, ask: FakeSession["inBackground"]) {
    this.#seat = seat;
    this.inBackground = ask;
  }

  get isConnected(): boolean {
    return this.#seat.isConnected;
  }

  get isSuspended(): boolean {
    return this.#seat.isSuspended;
  }
}
