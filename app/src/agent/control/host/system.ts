// Interface to what differs by operating system in an agent and its faces: a folder here for each system, with the same
// file names, and one place that chooses (this-system.ts).
import type { Clock } from "@runnel/shared/base";
import type { PathForm } from "../paths/path-form.ts";
import type { Checked } from "./checked.ts";
import type { MountTable } from "./mount-table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface CommandLine {
  program: string;
  args: string[];
  /** True where the words are passed on as they are, without the quotes that Windows' programs take off. */
  isVerbatim: boolean;
}

/** A program that is to outlive who starts it. */
export interface BackgroundProgram {
  command: readonly [program: string, ...words: string[]];
  /** Folder that it stands in. */
  folder: string;
  environment: Environment;
  /** File to whose end goes what it says. */
  logPath: string;
}

export interface Launched {
  /** True once it has ended with another code than 0, or when it could not be run. */
  hasFailed(): boolean;
}

export interface System {
  /** Form in which this system writes paths. */
  readonly paths: PathForm;
  mountTable(clock: Clock): MountTable;
  /**
   * Chooses where the agent of a home is to listen: a place where no other user can listen first. Makes the folder of a
   * socket that cannot lie in the home. @throws RunnelError Denied
   */
  placeSocket(home: string, environment: Environment): string;
  /**
   * Gives a file another name, in place of the file that may have it: a reader finds the old one or the new one. Blocks
   * for a second at most while somebody has the old one open. @throws the system's error
   */
  replace(from: string, to: string): void;
  /**
   * True where programs run under numbers of users and groups, as a server knows them; elsewhere those that a drive
   * says are made up.
   */
  readonly hasUserNumbers: boolean;
  /** True where the system maps a drive over NFS for whoever asks, without a driver. */
  readonly mapsNfs: boolean;
  /** True where a process that is asked to end by SIGTERM learns of it; elsewhere it is ended as by a crash. */
  readonly asksBySignal: boolean;
  /** Makes the names in a folder durable, where the system does not do so by itself. */
  syncFolder(path: string): void;
  /** Returns the place that the system has for what a program keeps for a user. `user`: the user's own folder. */
  homeFolder(user: string, environment: Environment): string;
  /**
   * Sees to it that the agent's home, which is there, is open to its user only, where the system does not do so by
   * itself. @throws RunnelError Denied when it is another's, or has something in it and was open to others
   */
  claimHome(folder: string): void;
  /** Returns the command that opens a file or folder with the program that this user prefers. */
  opener(path: string): CommandLine;
  /**
   * Starts a program that goes on when this process ends, that no terminal of this one ends, and that keeps this
   * process from ending in no way. @throws the system's error when its log cannot be opened
   */
  startInBackground(program: BackgroundProgram): Launched;
  /** Looks whether this computer can show drives. `root`: of the file system in which that is looked for. */
  checkDrives(environment: Environment, root: string): Promise<Checked>;
}
