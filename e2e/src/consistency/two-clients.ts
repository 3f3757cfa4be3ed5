// Two clients of one server on simulated ground, with the product's own parts: the first in mode async, the other in
// mode sync.
import { constants, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Program } from "@runnel/native/drive";
import { SeededRandom, SimulatedClock, SimulatedNetwork } from "@runnel/shared";
import { memoryFolder } from "./memory-folder.ts";
import { SimulatedClient } from "./simulated-client.ts";
import { SimulatedServer } from "./simulated-server.ts";

const DELAY_MS = 20;
const TERM_MS = 3_000;
const GIVE_UP_MS = 600_000;
/** Time in which everything is sent that can be. */
const SENT_MS = 60_000;
const { O_WRONLY, O_CREAT, O_TRUNC, O_RDONLY } = constants;

export class TwoClients {
  readonly clock = new SimulatedClock();
  readonly #folder = mkdtempSync(join(memoryFolder(), "runnel-two-"));
  readonly #server: SimulatedServer;
  readonly #clients: readonly [SimulatedClient, SimulatedClient];

  constructor() {
    const { clock } = this;
    const random = new SeededRandom(1);
    const network = new SimulatedNetwork(clock, random);
    this.#server = new SimulatedServer(clock, network, 1, TERM_MS);
    const client = (isAsync: boolean): SimulatedClient => {
      const line = { delayMs: DELAY_MS, jitterMs: 0 };
      const parts = { clock, network, random, line, losesPower: false, isAsync };
      return new SimulatedClient(isAsync ? "first" : "other", this.#folder, parts);
    };
    this.#clients = [client(true), client(false)];
  }

  async start(): Promise<void> {
    await this.run(this.#server.start());
    for (const client of this.#clients) await this.run(client.start());
  }

  get first(): SimulatedClient {
    return this.#clients[0];
  }

  /** Programs that use the first one's drive, and the other's. */
  get programs(): readonly [Program, Program] {
    const [first, other] = this.#clients.map((client) => client.agent?.kernel.program());
    if (first === undefined || other === undefined) throw new Error("A client does not run.");
    return [first, other];
  }

  /** Lets time pass until something has ended. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isDone = false;
    const mark = (): void => void (isDone = true);
    promise.then(mark, mark);
    if (!(await this.clock.runUntil(() => isDone, GIVE_UP_MS))) throw new Error("It does not end.");
    return promise;
  }

  /** Takes the first one's line away, until it has noticed. */
  async cut(): Promise<void> {
    const { line } = this.first;
    line.isDown = true;
    line.cut();
    await this.clock.advance(2 * TERM_MS);
  }

  /** Gives the line back. */
  join(): void {
    this.first.line.isDown = false;
  }

  async sent(): Promise<void> {
    await this.clock.advance(SENT_MS);
  }

  close(): void {
    for (const client of this.#clients) client.end();
    this.#server.crash();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Puts a file with that content there, in place of what it had. */
export async function write(program: Program, path: string, text: string): Promise<void> {
  const fd = await program.open(path, O_WRONLY | O_CREAT | O_TRUNC);
  await program.write(fd, 0, Buffer.from(text));
  await program.close(fd);
}

/** Writes behind what a file has. */
export async function append(program: Program, path: string, text: string): Promise<void> {
  const { sizeBytes } = await program.stat(path);
  const fd = await program.open(path, O_WRONLY);
  await program.write(fd, sizeBytes, Buffer.from(text));
  await program.close(fd);
}

export async function read(program: Program, path: string): Promise<string> {
  const { sizeBytes } = await program.stat(path);
  const fd = await program.open(path, O_RDONLY);
  const bytes = await program.read(fd, 0, sizeBytes);
  await program.close(fd);
  return Buffer.from(bytes).toString();
}

/**
 * Lines of what there is at and below a path: path, content, mode, links and extended attributes of a file; of a folder
 * its path and a slash.
 */
export async function treeOf(program: Program, path = ""): Promise<string[]> {
  const lines: string[] = [];
  for (const name of (await program.readdir(path)).toSorted()) {
    const below = path === "" ? name : `${path}/${name}`;
    const { mode, nlink } = await program.stat(below);
    if ((mode & 0o170000) === 0o040000) {
      lines.push(`${below}/`, ...(await treeOf(program, below)));
      continue;
    }
    const text = await read(program, below);
    const xattrs = await program.listxattr(below);
    lines.push([below, text, (mode & 0o777).toString(8), String(nlink), ...xattrs].join(" "));
  }
  return lines;
}
