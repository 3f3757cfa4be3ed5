// A server and two devices on the same volume, made to crash: one device works and is killed, the other only looks.
// What a workload's programs were answered is compared with the server's folder, the drive and the other drive.
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Device, type ServerProcess, mustRun } from "../harness/index.ts";
import { Sandbox } from "../harness/sandbox.ts";
import { StopAt } from "./stop-at.ts";
import type { Stop } from "./stop-at.ts";
import { type Tree, possibleTrees, stepsOf } from "./workload.ts";

const LIST_TREES = fileURLToPath(new URL("list-trees.ts", import.meta.url));
const PERFORM = fileURLToPath(new URL("perform.ts", import.meta.url));
const LIST_TREES_MS = 60_000;
const PERFORM_MS = 120_000;
const SETTLE_MS = 90_000;
const PROGRAMS = 3;

export const SERVER_PROGRAM = "runnel.mjs serve";
export const AGENT_PROGRAM = "agent/main.ts";

/** Place where the programs of one workload work. */
export interface Work {
  /** Name of the folder on the drive; also what its contents are made of. */
  name: string;
  log: string;
}

export type Mode = "sync" | "async";

export interface MountView {
  state: string;
  unsentFiles: number;
  problems: string[];
  sentence: string;
}

export class CrashRig {
  readonly sandbox = new Sandbox(3_600_000);
  readonly served = this.sandbox.makeFolder("served");
  readonly data = this.sandbox.makeFolder("data");
  readonly device = this.sandbox.device("a");
  readonly other = this.sandbox.device("b");
  readonly drive = this.sandbox.makeFolder("drive");
  readonly otherDrive = this.sandbox.makeFolder("other-drive");
  server!: ServerProcess;
  stop!: StopAt;
  /** Mode of the drive that programs work on. */
  private mode: Mode = "sync";

  /** `library`: what counts changes to the disk, as `StopAt.build` has made it. */
  static async start(library: string): Promise<CrashRig> {
    const rig = new CrashRig();
    rig.stop = new StopAt(rig.sandbox, library);
    await rig.startServer();
    await rig.mount();
    await rig.other.mount(`${rig.server.url}/docs`, rig.otherDrive);
    return rig;
  }

  /** At the port that it had before, if it ran before. */
  async startServer(stop?: Stop): Promise<void> {
    const listen = this.server === undefined ? "127.0.0.1:0" : `127.0.0.1:${this.server.port}`;
    const env = stop && this.stop.environment(SERVER_PROGRAM, [this.served, this.data], stop);
    this.server = await this.sandbox.startServer({ volumes: { docs: this.served }, data: this.data, listen, env });
  }

  /** Mounts, also over what a killed agent left. */
  async mount(stop?: Stop): Promise<void> {
    const env = stop && this.stop.environment(AGENT_PROGRAM, [dirname(this.device.home)], stop);
    const url = `${this.server.url}/docs`;
    const asked = ["mount", url, this.drive, "--mode", this.mode];
    await this.device.ask(asked, { deadlineMs: SETTLE_MS, env: { ...this.device.env, ...env } });
  }

  /** Maps the drive in that mode from here on. */
  async use(mode: Mode): Promise<void> {
    if (mode === this.mode) return;
    this.mode = mode;
    await this.device.unmount(this.drive);
    await this.mount();
  }

  async view(device: Device = this.device): Promise<MountView> {
    const [mount] = (await device.status())["mounts"] as MountView[];
    if (mount === undefined) throw new Error("Nothing is mounted.");
    return mount;
  }

  work(name: string): Work {
    mkdirSync(this.sandbox.path("logs"), { recursive: true });
    return { name, log: this.sandbox.path("logs", name) };
  }

  /** Runs the programs until each has ended or failed. */
  async perform({ name, log }: Work): Promise<void> {
    await mustRun(process.execPath, [PERFORM, `${this.drive}/${name}`, name, String(PROGRAMS), log], {
      deadlineMs: PERFORM_MS,
    });
  }

  /** Says whether the server has the last change of the programs, and so all that came before it. */
  isServed({ name }: Work): boolean {
    return existsSync(join(this.served, `${name}.end`));
  }

  /** Until what was written is committed and in the plain folder. */
  async settle(): Promise<void> {
    const untilMs = performance.now() + SETTLE_MS;
    for (;;) {
      const asked = await this.device.runnel(["flush", this.drive, "--applied"], { deadlineMs: SETTLE_MS });
      if (asked.code === 0) return;
      if (performance.now() > untilMs)
        throw new Error(`Nothing settles: ${asked.stderr}\n${JSON.stringify(await this.view())}`);
    }
  }

  /** Throws unless what is there is what the programs were answered, the same in all three places. */
  async check(work: Work): Promise<void> {
    const untilMs = performance.now() + SETTLE_MS;
    for (;;) {
      const problem = await this.difference(work);
      if (problem === undefined) return;
      // The other device may be on its way back to the server; then, and only then, it may show what it last knew.
      const isOtherAway = problem.isOtherOnly && (await this.view(this.other)).state === "offline";
      if (!isOtherAway || performance.now() > untilMs) throw new Error(problem.words);
    }
  }

  private async difference(work: Work): Promise<{ words: string; isOtherOnly: boolean } | undefined> {
    const [plain, drive, other] = await this.listTrees(
      [this.served, this.drive, this.otherDrive].map((at) => `${at}/${work.name}`),
    );
    for (let program = 0; program < PROGRAMS; program++) {
      const { done, failure } = readLog(work.log, program);
      const shown = [plain, drive, other].map((tree) => show(within(tree ?? new Map(), program)));
      const possible = possibleTrees(`${work.name}/${program}`, stepsOf(program), done).map(show);
      if (shown.every((one) => one === shown[0] && possible.includes(one))) continue;
      const words = `Lane ${program}, ${done} steps acknowledged${failure === undefined ? "" : `, then ${failure}`}:
folder\n${shown[0]}\ndrive\n${shown[1]}\nother drive\n${shown[2]}\n${possible.map((one) => `possible\n${one}`).join("\n")}`;
      return { words, isOtherOnly: shown[0] === shown[1] && possible.includes(shown[0] ?? "") };
    }
    return undefined;
  }

  /** Lanes that did not come to their end, in words. */
  cutShort({ log }: Work): string[] {
    return Array.from({ length: PROGRAMS }, (_, program) => program).flatMap((program) => {
      const { done, failure } = readLog(log, program);
      return done === stepsOf(program).length ? [] : [`program ${program}, step ${done}: ${failure ?? "no answer"}`];
    });
  }

  /** Reads what lies in each of the folders. */
  async listTrees(folders: readonly string[]): Promise<Tree[]> {
    const { stdout } = await mustRun(process.execPath, [LIST_TREES, ...folders], { deadlineMs: LIST_TREES_MS });
    return (JSON.parse(stdout) as [string, string][][]).map((found) => new Map(found));
  }

  cleanup(): Promise<unknown> {
    return this.sandbox.cleanup();
  }
}

/** Reads how many steps of a program the system has acknowledged, and how the next one failed. */
function readLog(log: string, program: number): { done: number; failure: string | undefined } {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
  const own = lines.map((line) => line.split(" ")).filter(([number]) => number === String(program));
  return {
    done: own.filter((words) => words.length === 2).length,
    failure: own.find((words) => words.length > 2)?.[2],
  };
}

function within(tree: Tree, program: number): Tree {
  const prefix = `${program}/`;
  return new Map(
    [...tree].flatMap(([path, words]) => (path.startsWith(prefix) ? [[path.slice(prefix.length), words]] : [])),
  );
}

function show(tree: Tree): string {
  return [...tree]
    .map(([path, words]) => `  ${path}: ${words}`)
    .sort()
    .join("\n");
}
