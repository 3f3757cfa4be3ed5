// A system without a kernel and a disk, which a test looks into: its files are texts, its drives a list.
import { posixPaths } from "../../paths/posix-paths.ts";
import { type Checked, DRIVES } from "../checked.ts";
import type { BackgroundProgram, CommandLine, Launched, System } from "../system.ts";
import { MemoryMountTable } from "./mount-table.ts";

export class MemorySystem implements System {
  readonly paths = posixPaths;
  readonly hasUserNumbers = true;
  readonly mapsNfs = false;
  readonly asksBySignal = true;
  readonly mounts = new MemoryMountTable();
  /** Texts of files by their paths. */
  readonly files = new Map<string, string>();
  /** Exit codes of the programs that there are, by their names. */
  readonly programs = new Map<string, number>();
  /** Programs that were started, in their order. */
  readonly started: BackgroundProgram[] = [];

  mountTable(): MemoryMountTable {
    return this.mounts;
  }

  placeSocket(home: string): string {
    return `memory:${home}`;
  }

  replace(from: string, to: string): void {
    const text = this.files.get(from);
    if (text === undefined) throw Object.assign(new Error(`${from} is not there.`), { code: "ENOENT" });
    this.files.delete(from);
    this.files.set(to, text);
  }

  syncFolder(): void {}

  homeFolder(user: string): string {
    return this.paths.files.join(user, "Runnel");
  }

  claimHome(): void {}

  opener(path: string): CommandLine {
    return { program: "open-in-memory", args: [path], isVerbatim: false };
  }

  startInBackground(program: BackgroundProgram): Launched {
    this.started.push(program);
    return { hasFailed: () => this.programs.get(program.command[0]) !== 0 };
  }

  checkDrives(): Promise<Checked> {
    return Promise.resolve({ about: DRIVES, isFine: true, sentence: "Drives are shown in memory.", next: null });
  }
}
