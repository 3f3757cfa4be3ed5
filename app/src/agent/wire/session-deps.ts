// Dependencies of a session, and the events that it reports.
import type { MachineChanges } from "../machine/machine-changes.ts";
import type { Change, Channel, Clock, Dialer, Difference, Executor, NodeState, VersionId } from "@runnel/shared";

export interface SessionEvents {
  /** Attached anew or resumed. Called before any feed item of this attachment; when it resolves, operations may go. */
  attached(facts: AttachFacts): Promise<void>;
  /** Applies feed items; acknowledged when it returns. Must not wait for the kernel. */
  changes(changes: readonly Change[], incomingSeqs: readonly number[]): void;
  /** Takes a content that was announced; null: it does not come. */
  content(version: VersionId, difference: Difference | null): void;
  /** Everything followed is current as of this seq. */
  current(seq: number): void;
  /** The backlog was too long: everything is unknown. */
  listAgain(): void;
  /** Everything followed is current until this boot time; 0: no lease, or others have write leases on some of it. */
  lease(untilBootMs: number): void;
  /** A change waits for others; 0: all that is asked does. */
  waiting(n: number, whom: readonly string[], untilMs: number): void;
  /** A write lease is had; `isContinued`: nobody else can have changed anything since this instance had it last. */
  granted(folder: number, isContinued: boolean): void;
  /** The write leases, if any were had, are lost, or may be. */
  leaseLost(): void;
  /** The notices of the volume's status are others now. */
  noticed(): void;
  /** A device that colleagues may have let in has lost its right: by the fingerprint of its key. */
  shutOut(key: Uint8Array): void;
  /** There are colleagues who can be reached, or none any more. */
  colleagues(areThere: boolean): void;
  /** A write lease is asked back: resolves when all that programs were told of in the folder has been sent. */
  recalled(folder: number): Promise<void>;
  /** The line's silence, after which reads go without an answer, has changed. */
  silence(ms: number): void;
  /** Bytes of a version that was committed from here, if they are still here. */
  lack(version: VersionId, offset: number, length: number): Promise<Uint8Array | undefined>;
  /** Connected or not; with a sentence when not. */
  link(isConnected: boolean, why: string): void;
}

export interface AttachFacts {
  epoch: string;
  seq: number;
  root: NodeState;
  isResumed: boolean;
  isReadOnly: boolean;
  /** Listing of the whole volume, if it was asked for in the same flight. Whoever takes it ends it. */
  listing: Channel | undefined;
}

export interface Resume {
  epoch: string;
  seq: number;
  follows: "all" | number[];
}

export interface SessionDeps {
  url: string;
  volume: string;
  clock: Clock;
  dialer: Dialer;
  executor: Executor;
  /** The journal's instance; asked at each attach. */
  instance(): string;
  software: string;
  /** The drive is opened so. */
  isReadOnly?: boolean;
  /** Left out where nobody knows when the machine slept, or its network changed. */
  machine?: MachineChanges;
  /** Token that makes this device known to the server; asked at each connection. */
  token?(): Promise<string | undefined> | string | undefined;
  /** Programs used the drive since the last call, answered without this side hearing of it. */
  wasUsed(): boolean;
  /** Takes further node ids while there is no line; undefined when none are in reserve. */
  reservedNodes?(): Promise<readonly [first: number, count: number] | undefined>;
  /** State that a new attachment resumes from. */
  resume(): Resume | undefined;
  /** The whole volume is to be listed and followed where it is not resumed: that is asked for with the attachment. */
  listsAll: boolean;
  /** Lists the folders that a node has names in, as far as is known here; left out: nothing is known. */
  namesOf?(node: number): readonly { folder: number }[];
  /** Left out where nobody needs to know. */
  events: Partial<SessionEvents>;
}
