// Changes of this client: of names and attributes, of files that are made, of contents.
import type { NodeState, VersionId } from "@runnel/shared";
import type { JournalCommit, JournalOperation } from "../journal/journal.ts";
import type { ChangeState } from "./change-states.ts";

/** A folder's name, and the node that a change binds it to, 0: none. */
export type OwnName = readonly [folder: number, name: string, node: number];

export interface OwnChange {
  n: number;
  state: ChangeState;
  /** A program waits for its first attempt. */
  isAwaited: boolean;
  /** Names that it binds: feed items that say the same are told to the kernel by its answer. */
  names: readonly OwnName[];
  /** Set for a file that programs use before the server has answered. */
  made?: MadeFile;
  /** Devices that it waits for, as the server says, and until when (ms). */
  waits?: { for: readonly string[]; untilMs: number };
}

export interface MadeFile {
  folder: number;
  name: string;
  state: NodeState;
  /** Resolves when it has been answered, whatever the answer, and the tree knows what became of the node. */
  settled: Promise<void>;
}

export interface Make extends OwnChange {
  made: MadeFile;
}

/** A content that a program saved. It takes the place of an unsent one only where it holds that one's content. */
export interface Save extends OwnChange {
  /** The node that its program has written to. */
  node: number;
  /**
   * Record in the journal; of another node where a file was there under the name of a new one, and where the content
   * becomes a conflict copy.
   */
  record: JournalCommit;
  /** Greater than that of each that was begun before; the number changes with the record. */
  order: number;
  /** The open file that it came from; 0: that is closed. */
  file: number;
  /** The drive's request that it came by; 0: none. */
  request: number;
  /** Programs heard that it failed: the open file has its layers, until the drive knows that the server has them. */
  isToldFailed: boolean;
  /** Why the last attempt failed; undefined for what a former process left and nobody has tried. */
  failure: unknown;
  /** The attempt under way that no program waits for. */
  sending: Promise<void> | undefined;
  /** The version that the server has made of it. */
  version: VersionId | undefined;
  /**
   * The save whose content it holds, and that is on its way: this one is sent once that is answered, as an edit of the
   * version that the server has made of it.
   */
  follows: Save | undefined;
  /** Recording it in the journal; undefined before that is begun. */
  recording: Promise<void> | undefined;
  /** The version by which this client calls an unsent content that programs see; 0: they do not. */
  shownAs: number;
}

/** A change of names or attributes that programs were told of before the server: it is in the journal. */
export interface TreeChange extends OwnChange {
  record: JournalOperation;
  /** Nodes that it changes. */
  nodes: readonly number[];
  /** The unsent content that the file had which it gives a name: others see the name with it, or not at all. */
  content: Save | undefined;
}

/** A change of names or attributes, or a content, on its way to the server. */
export type Queued = Save | TreeChange;

export function isMake(change: OwnChange): change is Make {
  return change.made !== undefined;
}

export function isSave(change: OwnChange): change is Save {
  return "shownAs" in change;
}

export function isTreeChange(change: OwnChange): change is TreeChange {
  return "nodes" in change;
}

/** Says whether it is not sent yet, for what became of the one below it is not known. */
export function isFollowing({ follows }: Save): boolean {
  return follows !== undefined && follows.state !== "settled";
}

/** Says whether it has not been answered: the next changes do not know what it leaves. */
export function isOutstanding({ isAwaited, state }: OwnChange): boolean {
  return isAwaited && state !== "committed";
}

/** Lists the nodes that it changes, or binds names to or in. */
export function nodesOf(change: OwnChange): number[] {
  if (isTreeChange(change)) return [...change.nodes];
  return isSave(change) ? [change.record.node] : change.names.flatMap(([folder, , node]) => [folder, node]);
}

/** Says whether the journal has a content which the server does not have yet. */
export function isContentUnsent({ state, version }: Save): boolean {
  return state !== "begun" && version === undefined;
}
