// What the agent shows to a face: the head's one sentence, and lists whose items have keys (the verb view).
import type { StateName } from "../../shared/ui/widgets/state-icon.tsx";

export interface Head {
  state: StateName;
  sentence: string;
  next: string | null;
}

export interface Drive extends Head {
  key: string;
  url: string;
  unsentFiles: number;
  unsentBytes: number;
  cacheBytes: number;
  conflicts: number;
  problems: string[];
}

export interface MovingFile {
  key: string;
  mountpoint: string;
  direction: "up" | "down";
  path: string;
  files: number;
  totalBytes: number;
  doneBytes: number;
  reusedBytes: number;
  bytesPerSecond: number;
  leftMs: number | null;
  waitsFor: string[];
}

export interface Event {
  key: string;
  atMs: number;
  sentence: string;
}

export type AgentLists = { drives: readonly Drive[]; transfers: readonly MovingFile[]; lately: readonly Event[] };
