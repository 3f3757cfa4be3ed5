// Devices that share a volume, with real connections between them, and what a server knows of them; without its wire.
import { inlineExecutor } from "@runnel/native";
import { RealClock, type RequestOf, SimulatedClock, checkRequest, encodeRecipe } from "@runnel/shared";
import type { Cache } from "../../src/agent/cache/cache.ts";
import { Colleagues, type DeviceAtHome } from "../../src/agent/colleagues/colleagues.ts";
import { deviceAtHome } from "../../src/agent/colleagues/device-at-home.ts";
import { MemoryMulticast } from "../../src/agent/colleagues/nearby/memory-multicast.ts";
import { MemoryCost } from "../../src/agent/control/host/line-cost/memory-cost.ts";
import type { MountSettings } from "../../src/agent/mount.ts";
import { Sources } from "../../src/agent/transfer/sources/sources.ts";
import { CacheMachine } from "../cache/cache-machine.ts";
import type { WholeContent } from "../transfer/sources/chunk-source-contract.ts";
import { FakeServer } from "./fake-server.ts";

export const EPOCH = "e".repeat(32);
const clock = new RealClock();
const executor = inlineExecutor();

export type SeatSettings = Pick<MountSettings, "colleagues" | "colleaguesUpBytes" | "isMetered">;

export class Office {
  /** The server's clock, and that by which tickets are judged. */
  readonly clock = new SimulatedClock();
  readonly server = new FakeServer(this.clock, EPOCH);
  readonly seats: Seat[] = [];
  /** On which the devices hear each other. */
  readonly link = new MemoryMulticast();

  async seat(name: string, settings: SeatSettings = ON): Promise<Seat> {
    const seat = await Seat.open(this, name, { ...settings });
    this.seats.push(seat);
    return seat;
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
  /** Told to a person. */
  readonly problems: string[] = [];
  readonly machine: CacheMachine;
  readonly cache: Cache;
  readonly device: DeviceAtHome;
  /** The line, as the system of the device says. */
  readonly line = new MemoryCost();
  readonly colleagues: Colleagues;
  readonly sources: Sources;
  readonly settings: SeatSettings;
  isSuspended = false;
  /** Nodes that lie in paused folders. */
  readonly paused = new Set<number>();
  isConnected = true;
  readonly #office: Office;
  /** The port that was announced last. */
  port = 0;
  readonly #listener = {
    name: "",
    shutOut: (key: Uint8Array): void => this.colleagues.shutOut(key),
    colleagues: (areThere: boolean): void => this.colleagues.areThere(areThere),
  };

  private constructor(office: Office, name: string, settings: SeatSettings, machine: CacheMachine, cache: Cache) {
    this.#office = office;
    this.name = name;
    this.#listener.name = name;
    this.settings = settings;
    this.machine = machine;
    this.cache = cache;
    this.device = deviceAtHome({
      home: "/home",
      disk: machine.disk,
      clock,
      executor,
      software: "Runnel",
      lineCost: this.line.cost,
      multicast: office.link.at("127.0.0.1"),
    });
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
      pauses: { isPaused: (nodes) => nodes.some((node) => this.paused.has(node)) },
      epoch: () => EPOCH,
      software: "Runnel",
      log,
      problem: (sentence) => void this.problems.push(sentence),
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
    if (name === "locate") return server.locate(this.#listener, request as unknown as RequestOf<"locate">);
    this.port = request.place?.port ?? this.port;
    return server.announce(this.#listener, request);
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
