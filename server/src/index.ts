// The server as a library: what `runnel serve` starts.
import type { ContentStatus } from "./content/content-store.ts";

export interface VolumeSettings {
  name: string;
  /** An existing folder; served as it is. */
  folder: string;
}

export interface ServerSettings {
  volumes: VolumeSettings[];
  host: string;
  /** 0: any free one. */
  port: number;
  /** Commit logs, meta stores, chunk indexes. Made if missing. */
  dataFolder: string;
  /** Lease term, milliseconds. */
  termMs?: number;
}

export interface RunningServer {
  /** ws://host:port */
  readonly url: string;
  readonly volumes: { name: string; folder: string; epoch: string }[];
  status(): { volumes: { name: string; seq: number; content: ContentStatus; attachments: number }[] };
  close(): Promise<void>;
}
