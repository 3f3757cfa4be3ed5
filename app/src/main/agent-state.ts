// The agent as the desktop app knows it: how its drives are, or why it does not say.
import type { Head } from "../agent/view/head.ts";
import type { MountStatus } from "../agent/mount-status.ts";
import { say } from "./say.ts";

export type DriveFacts = Pick<
  MountStatus,
  | "url"
  | "volume"
  | "mountpoint"
  | "state"
  | "refusal"
  | "unsentFiles"
  | "unsentNames"
  | "conflicts"
  | "problems"
  | "sentence"
  | "pause"
  | "pausedFolders"
>;

export interface Place {
  url: string;
  mountpoint: string;
}

export type AgentState =
  /** It is being started, or asked for the first time. */
  | { kind: "starting" }
  | {
      kind: "live";
      head: Head;
      drives: readonly DriveFacts[];
      /** Drives that are to be mapped again: an earlier agent left them, or they are kept. */
      lost: readonly Place[];
    }
  /** Somebody ended it on purpose. */
  | { kind: "stopped" }
  /** It was killed, or there is no starting it: a sentence. It is tried again. */
  | { kind: "failed"; why: "ended" | "unreachable"; sentence: string };

/** The one sentence, also where there is no agent to say it. */
export function headOfState(state: AgentState): Head {
  switch (state.kind) {
    case "live":
      return state.head;
    case "starting":
      return { state: "working", sentence: say("starting"), next: null, act: null };
    case "stopped":
      return { state: "paused", sentence: say("stopped"), next: say("stoppedNext"), act: null };
    case "failed":
      return { state: "attention", sentence: state.sentence, next: say("failedNext"), act: null };
  }
}

/** Last name of a path, of any system, as a person calls the drive. */
export function nameOf(mountpoint: string): string {
  return (
    mountpoint
      .split(/[/\\]/)
      .filter((part) => part !== "")
      .at(-1) ?? mountpoint
  );
}
