// The matrix: probes × conditions × what the client knows. Two devices: one knows the whole tree, one has only begun to
// list it (for what is cold).
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type LinkEmulator } from "../emulator/index.ts";
import {
  type Device,
  type MountStatus,
  Sandbox,
  type ServerProcess,
  STALL_ON_SIGNAL,
  noise,
  onMount,
  waitForMount,
} from "../harness/index.ts";
import type { Condition } from "./conditions.ts";
import { type Knows, LONGEST_MS, expected } from "./expectations.ts";
import { fuseOperations } from "./fuse-operations.ts";
import { type Job, type Probe, ProbeRun, listProbes } from "./probes.ts";

const WAIT_MS = 60_000;
/** Short, so that a lease that runs out is not waited for long. */
const LEASE_TERM_SECONDS = 4;
/** Listed before all else, and at this rate for longer than a condition lasts. */
const FILLER_NAMES = 2500;
const FILLER_NAME_BYTES = 100;
const COLD_LINK = { upBitsPerSecond: 200_000, downBitsPerSecond: 100_000 };
const FILE_BYTES = 2_000;
/** Too large to be read ahead, as small ones are when their neighbours are read one after another. */
const UNSEEN_BYTES = 300_000;

/** A probe under a condition. */
export interface Case {
  condition: Condition;
  probe: Probe;
  knows: Knows;
}

/** Probes of operations that the drive has. */
export async function ownProbes(): Promise<Probe[]> {
  const operations = new Set(fuseOperations());
  return (await listProbes()).filter((probe) => operations.has(probe.operation));
}

export function allCases(conditions: readonly Condition[], probes: readonly Probe[]): Case[] {
  return conditions.flatMap((condition) =>
    probes.flatMap((probe) => {
      const phases = probe.isCold ? condition.phases.slice(0, 1) : condition.phases;
      return phases.map((knows) => ({ condition, probe, knows }));
    }),
  );
}

export class Matrix {
  private readonly sandbox = new Sandbox();
  private readonly cases: readonly Case[];
  private readonly served: string;
  private server!: ServerProcess;
  private link!: LinkEmulator;
  private device!: Device;
  private drive = "";

  constructor(cases: readonly Case[]) {
    this.cases = cases;
    this.served = this.sandbox.makeFolder("served");
  }

  async start(): Promise<void> {
    const { sandbox, served } = this;
    for (const each of this.cases)
      makeObjects(join(served, this.folderOf(each)), each.condition.link === "none" ? UNSEEN_BYTES : FILE_BYTES);
    const filler = join(served, "zz-filler");
    mkdirSync(filler);
    for (let index = 0; index < FILLER_NAMES; index++)
      writeFileSync(join(filler, Buffer.from(noise(FILLER_NAME_BYTES, index + 1)).toString("hex")), "");
    this.server = await sandbox.startServer({ volumes: { docs: served }, leaseTerm: LEASE_TERM_SECONDS });
    this.link = await sandbox.startEmulator(this.server.port);
    this.device = sandbox.device("a", STALL_ON_SIGNAL);
    this.drive = sandbox.makeFolder("drive");
    await this.device.mount(`ws://127.0.0.1:${this.link.port}/docs`, this.drive);
    await this.waitForStatus(({ state }) => state === "connected", "the whole tree");
  }

  /** Returns a line for each result that was not as expected. */
  async run(condition: Condition): Promise<string[]> {
    const { sandbox } = this;
    const cases = this.cases.filter((each) => each.condition === condition);
    const cold = await this.coldDevice(condition, cases);
    const jobs = cases.map((each, index): Job => {
      const drive = each.probe.isCold ? cold.drive : this.drive;
      return { id: String(index), probe: each.probe.name, folder: join(drive, this.folderOf(each)), phase: each.knows };
    });
    const warm = jobs.filter((_, index) => cases[index]?.probe.isCold === false).map(({ folder }) => folder);
    if (warm.length > 0)
      await onMount('cat "${@/%//held}" > /dev/null; ls -lR "$@" > /dev/null', warm, { deadlineMs: WAIT_MS });
    const run = new ProbeRun(jobs, sandbox.env);
    try {
      await run.prepared(WAIT_MS);
      const place = {
        server: this.server,
        links: [this.link, ...cold.links],
        devices: [this.device, ...cold.devices],
      };
      await onMount('ls "$1" > /dev/null', [this.drive]);
      if (condition.phases.includes("leased")) await this.waitForStatus(({ hasLease }) => hasLease, "a lease");
      await condition.begin(place);
      for (const knows of condition.phases) {
        if (knows === "offline") await this.waitForStatus(({ state }) => state === "offline", "the state offline");
        if (knows !== "leased" && condition.link === "none")
          await this.waitForStatus(({ hasLease }) => !hasLease, "the end of the lease");
        run.go(knows);
      }
      await Promise.all(condition.phases.map((knows) => run.ended(knows, LONGEST_MS)));
      await condition.end(place);
    } finally {
      run.stop();
    }
    for (const device of cold.devices) await device.runnel(["unmount", "--force", cold.drive]);
    await this.waitForStatus(({ state }) => state === "connected", "the link");
    return cases.flatMap((each, index) => judge(each, run, String(index)));
  }

  cleanup(): Promise<unknown> {
    return this.sandbox.cleanup();
  }

  private folderOf(each: Case): string {
    const own = `${each.condition.name} ${each.knows} ${each.probe.name}`.replaceAll(/[^a-z0-9]+/g, "-");
    return each.probe.isCold ? own : `warm/${own}`;
  }

  /** Mounted just now over a narrow link: it knows the root, and is busy listing something long. */
  private async coldDevice(
    condition: Condition,
    cases: readonly Case[],
  ): Promise<{ drive: string; links: LinkEmulator[]; devices: Device[] }> {
    if (!cases.some(({ probe }) => probe.isCold)) return { drive: "", links: [], devices: [] };
    const { sandbox } = this;
    const name = condition.name.replaceAll(/[^a-z0-9]+/g, "-");
    const link = await sandbox.startEmulator(this.server.port, COLD_LINK);
    const device = sandbox.device(name, STALL_ON_SIGNAL);
    const drive = sandbox.makeFolder(`cold-${name}`);
    await device.mount(`ws://127.0.0.1:${link.port}/docs`, drive);
    return { drive, links: [link], devices: [device] };
  }

  private async waitForStatus(condition: (status: MountStatus) => boolean, what: string): Promise<void> {
    await waitForMount(this.device, condition, WAIT_MS, what);
  }
}

/** Makes what each probe finds in its folder. */
function makeObjects(folder: string, unseenBytes: number): void {
  mkdirSync(join(folder, "sub"), { recursive: true });
  mkdirSync(join(folder, "empty"));
  writeFileSync(join(folder, "held"), noise(FILE_BYTES, folder.length));
  writeFileSync(join(folder, "unseen"), noise(unseenBytes, folder.length + 1));
  for (const name of ["one", "two"]) writeFileSync(join(folder, "sub", name), name);
  symlinkSync("held", join(folder, "link"));
}

function judge(each: Case, run: ProbeRun, id: string): string[] {
  const { condition, probe, knows } = each;
  const { withinMs, errors } = expected(probe.kind, knows, condition.link, probe.isCold);
  const outcome = run.outcomes.get(id);
  const what = `${condition.name}, ${knows}: ${probe.name}`;
  const wanted = `wanted ${errors.map((error) => error || "success").join(" or ")} within ${withinMs} ms`;
  if (outcome === undefined) return [`${what}: hangs; ${wanted}`];
  if (outcome.unprepared !== undefined) return [`${what}: could not be prepared: ${outcome.unprepared}`];
  const { ms = 0, error = "" } = outcome;
  if (ms <= withinMs && errors.includes(error)) return [];
  return [`${what}: ${error || "success"} after ${Math.round(ms)} ms; ${wanted}`];
}
