// Folders that change places while programs walk through them, with a kernel that keeps their names: each open, create
// and mkdir reaches a folder that its path led to at some moment of the call, and none fails. A simulated kernel and
// clock; the fake agent changes the tree at once, as an agent does that has acknowledged another client's change.
import { constants, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { memoryDrive, type Program } from "@runnel/native/drive";
import { FakeAgent } from "@runnel/native/test/support/fake-agent.ts";
import { SeededRandom, SimulatedClock, sleep } from "@runnel/shared";
import { Kernel } from "../src/consistency/kernel/kernel.ts";
import { Machine } from "../src/simulation/machine.ts";

const { O_CREAT, O_EXCL, O_RDONLY, O_WRONLY } = constants;
const LONG = process.env["RUNNEL_LONG"] === "1";
const SEEDS = LONG ? 200 : 8;
const FIRST_SEED = 1;
const TEST_MS = 60_000 + (LONG ? 600_000 : 0);
const LASTS_MS = 60_000;
const PROGRAMS = 4;
const PLACES = ["0", "1"];
const EXCHANGE = 2;
const ENOENT = 2;
/** The name, at first, of the folders with a file that the others lack. */
const ONLY_IN = "1";

interface State {
  /** Node at each path of one or two names; of the second the folder's own and the one that it lies in. */
  tops: number[];
  inner: Map<number, number[]>;
}

class World {
  readonly violations: string[] = [];
  kept = 0;
  private readonly clock = new SimulatedClock();
  private readonly machine = new Machine(this.clock);
  private readonly process = this.machine.process();
  private readonly random: SeededRandom;
  private readonly folder = mkdtempSync(join(tmpdir(), "runnel-moved-"));
  private readonly fake: FakeAgent;
  private readonly kernel: Kernel;
  private readonly drive;
  private readonly states: State[] = [];
  /** Folders that have the file which others lack. */
  private readonly having = new Set<string>();
  private made = 0;
  private isOver = false;

  constructor(seed: number) {
    const { process, folder } = this;
    this.random = new SeededRandom(seed);
    const overlayFolder = join(folder, "overlay");
    mkdirSync(overlayFolder);
    this.drive = memoryDrive(
      {
        mountpoint: "",
        source: "runnel:test",
        overlayFolder,
        overlayPrefix: "test",
        isReadOnly: false,
        deadlinesMs: {},
        entriesMax: 10_000,
      },
      process,
      () => this.machine.awakeMs(),
    );
    this.fake = new FakeAgent(this.drive, join(folder, "cache"), () => process.bootMs());
    this.kernel = new Kernel(this.drive, process, new SeededRandom(seed + 1));
  }

  async run(): Promise<void> {
    const { fake, clock } = this;
    await fake.start();
    for (const top of PLACES) {
      fake.remoteMkdir(top);
      for (const inner of PLACES) {
        fake.remoteMkdir(`${top}/${inner}`);
        const ids = [fake.entryAt(top)?.node, fake.entryAt(`${top}/${inner}`)?.node];
        fake.remoteWrite(`${top}/${inner}/file`, Buffer.from(ids.join("/")));
        if (inner !== ONLY_IN) continue;
        fake.remoteWrite(`${top}/${inner}/only`, Buffer.from(ids.join("/")));
        this.having.add(ids.join("/"));
      }
    }
    this.sample();
    let ended = 0;
    const works = [this.move(), ...Array.from({ length: PROGRAMS }, () => this.work(this.kernel.program()))];
    for (const work of works)
      work.then(
        () => ended++,
        (error: unknown) => {
          ended++;
          this.violations.push(`${error instanceof Error ? error.stack : String(error)}`);
        },
      );
    await clock.runUntil(() => clock.bootMs() > LASTS_MS);
    this.isOver = true;
    if (!(await clock.runUntil(() => ended === works.length))) this.violations.push("It does not end.");
    this.kept = this.kernel.answered.names;
    await this.drive.close(true);
    rmSync(this.folder, { recursive: true });
  }

  private pause(ms: number): Promise<void> {
    return sleep(this.process, this.random.below(ms));
  }

  private place(): string {
    return PLACES[this.random.below(PLACES.length)] ?? "";
  }

  private nodeAt(path: string): number {
    return this.fake.entryAt(path)?.node ?? 0;
  }

  private sample(): number {
    const tops = PLACES.map((top) => this.nodeAt(top));
    const inner = new Map(
      PLACES.map((top) => [this.nodeAt(top), PLACES.map((each) => this.nodeAt(`${top}/${each}`))] as const),
    );
    this.states.push({ tops, inner });
    return this.states.length - 1;
  }

  /** Does what another client does, and what happens to the agent. */
  private async move(): Promise<void> {
    const { fake, random } = this;
    while (!this.isOver) {
      await this.pause(5_000);
      const what = random.below(10);
      if (what === 0) this.kernel.shrink();
      else if (what === 1) this.drive.dropFolder(0);
      else if (what === 2) {
        fake.setLease(false);
        await this.pause(1_500);
        fake.setLease(true);
      } else {
        const top = this.place();
        const [one, other] = random.coin() ? PLACES : PLACES.map((each) => `${top}/${each}`);
        fake.remoteRename(one ?? "", "meanwhile");
        fake.remoteRename(other ?? "", one ?? "");
        fake.remoteRename("meanwhile", other ?? "");
      }
      this.sample();
    }
  }

  private async work(program: Program): Promise<void> {
    while (!this.isOver) {
      await this.pause(this.random.coin() ? 20 : 600);
      const [top, inner] = [this.place(), this.place()];
      const from = this.sample();
      const what = this.random.below(12);
      if (what === 0) {
        const [one, other] = this.random.coin() ? PLACES : PLACES.map((each) => `${top}/${each}`);
        await program.rename(one ?? "", other ?? "", EXCHANGE);
      } else {
        const path = `${top}/${inner}`;
        const reached =
          what < 6
            ? await this.read(program, `${path}/file`)
            : what < 8
              ? await this.readOnly(program, path)
              : await this.make(program, path, what);
        this.sample();
        this.judge(from, path, reached);
      }
      this.sample();
    }
  }

  private async read(program: Program, path: string): Promise<string> {
    const fd = await program.open(path, O_RDONLY);
    const text = Buffer.from(await program.read(fd, 0, 100)).toString();
    await program.close(fd);
    return text;
  }

  /** Reads a file that only some of the folders have; "none" where it is not there. */
  private async readOnly(program: Program, path: string): Promise<string> {
    try {
      return await this.read(program, `${path}/only`);
    } catch (error) {
      if ((error as { errno?: number }).errno !== ENOENT) throw error;
      return "none";
    }
  }

  private async make(program: Program, folder: string, what: number): Promise<string> {
    const name = `new-${++this.made}`;
    const path = `${folder}/${name}`;
    if (what < 10) await program.mkdir(path);
    else await program.close(await program.open(path, O_WRONLY | O_CREAT | O_EXCL));
    for (const at of PLACES)
      for (const below of PLACES)
        if (this.nodeAt(`${at}/${below}/${name}`) > 0) return `${this.nodeAt(at)}/${this.nodeAt(`${at}/${below}`)}`;
    return "nowhere";
  }

  /** A folder may have been found before the one in it: each at some moment since then. */
  private judge(from: number, path: string, reached: string): void {
    const states = this.states.slice(from);
    const [top = 0, inner = 0] = path.split("/").map(Number);
    const could = new Set<string>();
    for (const { tops } of states)
      for (const { inner: inners } of states) could.add(`${tops[top]}/${inners.get(tops[top] ?? 0)?.[inner]}`);
    if (could.has(reached)) return;
    if (reached === "none" && [...could].some((each) => !this.having.has(each))) return;
    this.violations.push(
      `${path} at ${this.process.bootMs().toFixed(1)} ms led to ${reached}, not to ${[...could].join(" or ")}`,
    );
  }
}

test(
  "folders that change places are never walked through at their former ones, and no call fails for it",
  async () => {
    const found: string[] = [];
    let kept = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const world = new World(seed);
      await world.run();
      kept += world.kept;
      found.push(...world.violations.map((each) => `seed ${seed}: ${each}`));
    }
    console.info(`${kept} names were found by kernels themselves`);
    expect(found).toEqual([]);
    expect(kept / SEEDS).toBeGreaterThan(100);
  },
  TEST_MS,
);
