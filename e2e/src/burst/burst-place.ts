// A served folder in which a program changes more at once than the system reports, and the drives that show it.
import { fileURLToPath } from "node:url";
import {
  Control,
  type Device,
  type Picture,
  Sandbox,
  type ServerProcess,
  mustRun,
  onMount,
  pictureOf,
  waitFor,
} from "../harness/index.ts";

const BURST = fileURLToPath(new URL("burst.py", import.meta.url));
/** A change by a program on the server shows within 2 s, and the kernel may answer from what it knows for one more. */
const SHOWN_MS = 3000;
/** The folder is looked through before the server is ready. */
const READY_MS = 120_000;
const BURST_DEADLINE_MS = 240_000;
/** Time for a look through the folder at the rate of a slow machine. */
const LOOKED_MS = 240_000;
const PICTURE_MS = 400_000;

const SAVE = `mkdir "$1/mine"; for n in $(seq "$2"); do
echo "$n once" > "$1/mine/$n"; echo "$n twice" >> "$1/mine/$n"
if [ $((n % 3)) = 0 ]; then mv "$1/mine/$n" "$1/mine/moved $n"; elif [ $((n % 7)) = 0 ]; then rm "$1/mine/$n"; fi; done`;

/** The part of `status` (docs/cli.md) about the server, when it can be asked. */
interface ServerView {
  scan: { why: string; done: number; total: number } | null;
  conflicts: unknown[];
}

export class BurstPlace {
  readonly sandbox = new Sandbox();
  readonly served: string;
  readonly devices: { device: Device; drive: string; control: Control }[] = [];
  server!: ServerProcess;

  constructor() {
    this.served = this.sandbox.makeFolder("served");
  }

  /** The folders are there before: what happens in a new one is found by looking at it. */
  async start(drives: number): Promise<void> {
    await this.burst(1000, 0);
    for (let at = 0; at < 24; at++) this.sandbox.makeFolder("served", `burst${at}`);
    this.server = await this.sandbox.startServer({ volumes: { docs: this.served }, readyMs: READY_MS });
    for (let at = 0; at < drives; at++) {
      const device = this.sandbox.device(`${at}`);
      const drive = this.sandbox.makeFolder(`drive${at}`);
      await device.mount(`${this.server.url}/docs`, drive);
      this.devices.push({ device, drive, control: await Control.of(device) });
    }
    await this.looked();
  }

  async burst(changes: number, seed: number): Promise<void> {
    const { stdout } = await mustRun("python3", [BURST, this.served, `${changes}`, `${seed}`], {
      deadlineMs: BURST_DEADLINE_MS,
    });
    if (Number(stdout) < changes) throw new Error(`Only ${stdout} changes were made.`);
  }

  /** Asks the agent for what `runnel status` would say of the server. */
  private async serverOf(control: Control): Promise<ServerView | null> {
    const { mounts } = await control.ask({ verb: "status", asksServer: true });
    return (mounts as { server: ServerView | null }[])[0]?.server ?? null;
  }

  /**
   * Waits until no drive's status has said for as long as a change may take to show that the folder is looked through;
   * says what it said.
   */
  async looked(): Promise<Set<string>> {
    const whys = new Set<string>();
    let quietSinceMs = Infinity;
    const isQuiet = async (): Promise<boolean> => {
      const all = await Promise.all(this.devices.map(({ control }) => this.serverOf(control)));
      const nowMs = performance.now();
      for (const one of all) if (one !== null && one.scan !== null) whys.add(one.scan.why);
      const isSaid = all.every((one) => one !== null && one.scan === null);
      quietSinceMs = isSaid ? Math.min(quietSinceMs, nowMs) : Infinity;
      if (nowMs - quietSinceMs >= SHOWN_MS) return true;
      return false;
    };
    await waitFor(isQuiet, LOOKED_MS, "status to say that nothing is looked through");
    return whys;
  }

  /**
   * A program on the first drive saves so many files, each in two steps, moves some and removes some; says what they
   * have to hold.
   */
  async save(files: number): Promise<string[]> {
    const [first] = this.devices;
    if (first === undefined) throw new Error("There is no drive.");
    await onMount(SAVE, [first.drive, `${files}`], { deadlineMs: BURST_DEADLINE_MS });
    await first.device.flush(first.drive, { up: true, deadlineMs: BURST_DEADLINE_MS });
    const numbers = Array.from({ length: files }, (_, index) => index + 1);
    const kept = numbers.filter((n) => n % 3 === 0 || n % 7 !== 0);
    return kept.flatMap((n) => [`${n} once`, `${n} twice`]).sort();
  }

  /** Reads the contents of the saved files in the served folder. */
  async saved(): Promise<string[]> {
    const { stdout } = await mustRun("sh", ["-c", 'cat "$1"/mine/*', "sh", this.served]);
    return stdout.trimEnd().split("\n").sort();
  }

  async cleanup(): Promise<void> {
    for (const { control } of this.devices) control.close();
    await this.sandbox.cleanup();
  }

  async conflicts(): Promise<unknown[]> {
    const [first] = this.devices;
    return (first && (await this.serverOf(first.control))?.conflicts) ?? [];
  }

  /** The folder, and each drive: names, types, modes, targets and contents. */
  async pictures(): Promise<[folder: Picture, ...drives: Picture[]]> {
    const of = (folder: string): Promise<Picture> => pictureOf(folder, { isOfNames: true, deadlineMs: PICTURE_MS });
    const [folder, ...drives] = await Promise.all([this.served, ...this.devices.map(({ drive }) => drive)].map(of));
    return [folder ?? {}, ...drives];
  }
}
