// Drives as the agent tells of them, for tests of the desktop app.
import type { DriveFacts } from "../../src/main/agent-state.ts";

export function driveFacts(changes: Partial<DriveFacts> = {}): DriveFacts {
  return {
    url: "wss://host:1/docs",
    volume: "docs",
    mountpoint: "/home/ada/Docs",
    state: "connected",
    refusal: null,
    pause: null,
    pausedFolders: [],
    unsentFiles: 0,
    unsentNames: 0,
    conflicts: [],
    problems: [],
    sentence: "Connected.",
    ...changes,
  };
}

export function conflictsOf(...paths: string[]): DriveFacts["conflicts"] {
  return paths.map((path) => ({ path, conflictCopy: `${path} (conflict)`, seq: 1, by: "desk", atMs: 1 }));
}
