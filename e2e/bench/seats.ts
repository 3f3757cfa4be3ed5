// Devices behind one line that open the same files, for benchmarks of colleagues. Each file is new to them: a device
// beside the server saves it, as whoever saves a file has cut it.
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Device, type LinkEmulator, type Sandbox, noise, onMount, quiet } from "../src/harness/index.ts";
import type { LinkShape } from "../src/harness/index.ts";

export const DEADLINE_MS = 600_000;

export interface Seat {
  device: Device;
  drive: string;
}

export interface NewFile {
  name: string;
  sizeBytes: number;
  digest: string;
}

let files = 0;

export class Seats {
  readonly link: LinkEmulator;
  readonly seats: readonly Seat[];
  readonly #sandbox: Sandbox;
  readonly #author: Seat;

  private constructor(sandbox: Sandbox, link: LinkEmulator, author: Seat, seats: readonly Seat[]) {
    this.#sandbox = sandbox;
    this.link = link;
    this.#author = author;
    this.seats = seats;
  }

  /** `line`: between the server and all of them. */
  static async open(sandbox: Sandbox, count: number, line: Partial<LinkShape>): Promise<Seats> {
    const server = await sandbox.startServer();
    const link = await sandbox.startEmulator(server.port, line);
    const author = { device: sandbox.device("author"), drive: sandbox.makeFolder("drive-author") };
    await author.device.mount(`${server.url}/docs`, author.drive);
    const seats: Seat[] = [];
    for (let number = 0; number < count; number++) {
      const seat = { device: sandbox.device(`d${number}`), drive: sandbox.makeFolder(`drive-${number}`) };
      await seat.device.mount(`ws://127.0.0.1:${link.port}/docs`, seat.drive, ["--colleagues", "network"]);
      seats.push(seat);
    }
    return new Seats(sandbox, link, author, seats);
  }

  /** Sets with whom they share what is cached. */
  async share(reach: "off" | "network"): Promise<void> {
    for (const { device, drive } of this.seats) await device.ask(["set", drive, "--colleagues", reach]);
  }

  /** Resolves when all see a new file of so many bytes, of which they have none, and the line is quiet. */
  async add(sizeBytes: number): Promise<NewFile> {
    const name = `file-${++files}`;
    const bytes = noise(sizeBytes, files);
    const local = this.#sandbox.path(name);
    writeFileSync(local, bytes);
    await onMount('cp "$1" "$2"', [local, join(this.#author.drive, name)], { deadlineMs: DEADLINE_MS });
    rmSync(local);
    for (const { drive } of this.seats)
      await onMount('until [ -e "$1" ] && [ "$(stat -c %s "$1")" = "$2" ]; do sleep 0.1; done', [
        join(drive, name),
        String(sizeBytes),
      ]);
    await quiet(this.link);
    return { name, sizeBytes, digest: createHash("sha256").update(bytes).digest("hex") };
  }

  /** Reads a file whole. Resolves to the seconds that it took. @throws when it has other bytes */
  async read({ drive }: Seat, { name, digest }: NewFile): Promise<number> {
    const beganMs = performance.now();
    const said = await onMount('sha256sum < "$1"', [join(drive, name)], { deadlineMs: DEADLINE_MS });
    if (!said.startsWith(digest)) throw new Error(`${drive} has other bytes of ${name}.`);
    return (performance.now() - beganMs) / 1000;
  }

  /** Saves a file of so many new bytes. Resolves to the seconds that it took. */
  async write({ drive }: Seat, sizeBytes: number): Promise<number> {
    const name = `file-${++files}`;
    const local = this.#sandbox.path(name);
    writeFileSync(local, noise(sizeBytes, files));
    const beganMs = performance.now();
    await onMount('cp "$1" "$2"', [local, join(drive, name)], { deadlineMs: DEADLINE_MS });
    const seconds = (performance.now() - beganMs) / 1000;
    rmSync(local);
    return seconds;
  }

  /** Bytes that the server has sent to them while this was done. */
  async sentDuring(work: () => Promise<void>): Promise<number> {
    await this.link.resetCounts();
    await work();
    return (await this.link.counts()).down.sentBytes;
  }
}
