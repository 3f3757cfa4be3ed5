// Many clients of one server, each a whole agent, on simulated ground: what their number costs whoever changes
// something.
import { constants, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { SeededRandom, SimulatedClock, SimulatedNetwork } from "@runnel/shared";
import { memoryFolder } from "./memory-folder.ts";
import { SimulatedClient } from "./simulated-client.ts";
import { SimulatedServer } from "./simulated-server.ts";

/** Delay of a link, one way. */
const DELAY_MS = 20;
const AT_ONCE = 100;
const GIVE_UP_MS = 600_000;

export class Crowd {
  readonly clock = new SimulatedClock();
  readonly clients: SimulatedClient[];
  readonly server: SimulatedServer;
  private readonly folder = mkdtempSync(join(memoryFolder(), "runnel-crowd-"));
  private saves = 0;

  constructor(count: number, termMs: number) {
    const { clock, folder } = this;
    const random = new SeededRandom(count);
    const network = new SimulatedNetwork(clock, random);
    this.server = new SimulatedServer(clock, network, count, termMs);
    this.clients = Array.from({ length: count }, (_, index) => {
      const line = { delayMs: DELAY_MS, jitterMs: 0 };
      return new SimulatedClient(`client${index}`, folder, { clock, network, random, line, losesPower: false });
    });
  }

  /** All are mounted when it resolves. */
  async start(): Promise<void> {
    await this.run(this.server.start());
    // A server lets no more than 256 connections say nothing at once [W73].
    for (let at = 0; at < this.clients.length; at += AT_ONCE)
      await this.run(Promise.all(this.clients.slice(at, at + AT_ONCE).map((client) => client.start())));
    await this.clock.advance(2_000);
  }

  /** Programs of these look into the root; how many drives have a lease then. */
  async look(clients: readonly SimulatedClient[]): Promise<number> {
    await this.run(Promise.all(clients.map((client) => client.agent?.kernel.program().readdir(""))));
    await this.clock.advance(10 * DELAY_MS);
    return this.holders();
  }

  /** Counts the drives that have a lease. */
  async holders(): Promise<number> {
    const states = await this.run(Promise.all(this.clients.map((client) => client.agent?.mount.status(false))));
    return states.filter((state) => state?.hasLease === true).length;
  }

  /** Measures how long a program of the first client waits for the close of a new file, on the simulation's clock. */
  async saveMs(): Promise<number> {
    const program = this.clients[0]?.agent?.kernel.program();
    if (program === undefined) throw new Error("There is no client.");
    const { O_WRONLY, O_CREAT } = constants;
    const fd = await this.run(program.open(`file ${++this.saves}`, O_WRONLY | O_CREAT));
    await this.run(program.write(fd, 0, new Uint8Array(100)));
    const beganMs = this.clock.bootMs();
    await this.run(program.close(fd));
    return this.clock.bootMs() - beganMs;
  }

  end(): void {
    for (const client of this.clients) client.end();
    this.server.crash();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, GIVE_UP_MS))) throw new Error("It does not end.");
    return promise;
  }
}
