// Interface to what differs by operating system in an agent and its faces: a folder here for each system, with the same
// file names, and one place that chooses (this-system.ts).
import type { Clock } from "@runnel/shared/base";
import type { PathForm } from "../paths/path-form.ts";
import type { MountTable } from "./mount-table.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

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
}
