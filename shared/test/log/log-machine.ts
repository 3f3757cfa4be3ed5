// A machine with a simulated disk and a log on it.
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { SimulatedDisk } from "../../src/host/simulated/simulated-disk.ts";
import type { DiskRoot } from "../../src/host/disk.ts";
import type { OpenedLog, RecordPlace } from "../../src/log/log.ts";
import { openLog } from "../../src/log/open-log.ts";
import type { LogFormat } from "../../src/log/segment-format.ts";

export const FORMAT: LogFormat = { magic: "TEST", version: 1 };
export const FOLDER = "log";

export class LogMachine {
  readonly clock = new SimulatedClock();
  readonly disk: SimulatedDisk;
  root!: DiskRoot;

  constructor(seed = 1) {
    this.disk = new SimulatedDisk({ clock: this.clock, seed });
  }

  async open(format = FORMAT): Promise<OpenedLog> {
    this.root ??= await this.openRoot();
    return openLog(this.root, FOLDER, format);
  }

  /** Power is cut and comes back. */
  async crash(): Promise<void> {
    this.disk.crash();
    this.root = await this.openRoot();
  }

  async read(segment: number): Promise<Uint8Array> {
    const file = await this.root.open(this.path(segment), "read");
    const { sizeBytes } = await file.stat();
    const bytes = await file.read(0, sizeBytes);
    await file.close();
    return bytes;
  }

  /** Replaces a segment, as a bad disk would. */
  async replace(segment: number, bytes: Uint8Array): Promise<void> {
    const file = await this.root.open(this.path(segment), "create");
    await file.truncate(0);
    await file.write(0, bytes);
    await file.sync();
    await file.close();
  }

  path(segment: number): string {
    return `${FOLDER}/${String(segment).padStart(10, "0")}.log`;
  }

  async names(): Promise<string[]> {
    const names: string[] = [];
    await this.root.list(FOLDER, (entries) => {
      for (const { name } of entries) if (name !== undefined) names.push(name);
    });
    return names.toSorted();
  }

  private openRoot(): Promise<DiskRoot> {
    return this.disk.openRoot("/data", { permissions: 0o700 });
  }
}

export function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export async function replayed({ log }: OpenedLog): Promise<string[]> {
  const texts: string[] = [];
  await log.replay(({ payload }) => {
    texts.push(new TextDecoder().decode(payload));
  });
  return texts;
}

export async function readText({ log }: OpenedLog, place: RecordPlace): Promise<string> {
  return new TextDecoder().decode(await log.read(place, 0, place.length));
}
