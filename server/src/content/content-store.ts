// ContentStore: the bytes of versions, and the live tree of `main` as plain files. Engines: folder (a served folder,
// other programs read and write it) and memory. The volume decides and logs commits; the engine applies them
// afterwards, in seq order as far as one depends on another, and tells what other programs did ([F28]).
import type { Change, DiskFile, DiskSpace, ErrorKind, Executor, Log, Notice } from "@runnel/shared";
import type { RecordPlace, ScanReason, VersionId } from "@runnel/shared";
import type {
  ExternalOperation,
  MetaStore,
  NoticeStore,
  Operation,
  OperationResult,
  Planned,
  WriteContent,
} from "../meta/meta-store.ts";

/** A commit that is in the log and in the meta store, to be applied. */
export interface AcceptedCommit {
  seq: number;
  operation: Operation;
  result: OperationResult;
  change: Change;
  /** Instance that asked for it; "" where nobody did. */
  instance: string;
  /** Place of a write's data: where the record's data lies in the log (run "log" offsets count from its start). */
  data: RecordPlace | undefined;
}

/** Calls of the engine into the volume. All are asynchronous; the engine calls them one batch at a time. */
export interface ContentCallbacks {
  /**
   * Decide, log, index and publish what other programs did. The engine's next batch waits for it, applying included: it
   * resolves when the batch is in the index, without waiting for acknowledgements. Before it resolves, commits with
   * lower seqs have been given to `accept`; when `isSuperseded` is asked, all that come before the operation. One that
   * is does nothing.
   */
  externalChanges(
    operations: ExternalOperation[],
    isSuperseded: (operation: ExternalOperation) => boolean,
  ): Promise<Planned[]>;
  /**
   * Must not wait for the engine. Make durable in the commit log that the commit `seq` is about to put the file with
   * this handle in place.
   */
  recordIntent(seq: number, handle: Uint8Array): Promise<void>;
  /**
   * Must not wait for the engine. Make durable in the commit log that later commits may be put in place before these.
   */
  recordWaiting(seqs: readonly number[]): Promise<void>;
  readLog(place: RecordPlace, offset: number, length: number): Promise<Uint8Array>;
  /** Keeps what people are to be told; by default the index does. */
  keptNotices?: NoticeStore;
  /**
   * Asks the client that made a commit for bytes of its content that nobody else has; resolves when it has no more, or
   * does not come.
   */
  askCommitter(instance: string, version: VersionId, ranges: readonly ByteRange[], take: TakeBytes): Promise<void>;
  /** There is another notice. */
  noticed(): void;
  /** All commits up to this seq are in the plain folder, durably. */
  applied(seq: number): void;
  /** Events may have been missed: leases are withdrawn until `scanned`. */
  uncertain(): void;
  scanned(): void;
  /**
   * The folder is the volume's no more (moved, another device, marker missing), and why. Said once: the store does
   * nothing more, and is to be closed.
   */
  unavailable(reason: string): void;
  /**
   * Staged files that an earlier process left, with notes, and no commit names: the volume's, each to be resumed or
   * discarded. Said once, as the store begins.
   */
  resumable(files: readonly ResumableFile[]): void;
}

/** Takes bytes of a content, at an offset of it. */
export type TakeBytes = (offset: number, bytes: Uint8Array) => Promise<void>;

export interface ByteRange {
  offset: number;
  length: number;
}

/**
 * An open version. Reads answer from the live file, the trash, or log + older versions, whatever holds it now. Close it
 * once.
 */
export interface OpenVersion {
  readonly sizeBytes: number;
  /** The file that holds the whole version, for digesting on core.node's threads; undefined while it is not applied. */
  readonly file: DiskFile | undefined;
  /**
   * Recorded digests of the range hold: its file's stat tuple is the recorded one, and older than 2 s or the store's
   * own doing, or it is not applied and only the store writes where it lies, or that is so of what it copies from.
   */
  isSettled(offset: number, length: number): Promise<boolean>;
  /**
   * Keeps these ranges as they are now until it is closed and what copies from it is in the folder, whatever other
   * programs do to the file. To be called before they are verified. False when they cannot be kept.
   */
  secure(ranges: readonly ByteRange[]): Promise<boolean>;
  /**
   * Digests of ranges, in order, of what lies there now; on core.node's threads as far as it lies in files. @throws as
   * read.
   */
  digest(ranges: readonly ByteRange[], executor: Executor): Promise<Uint8Array>;
  /**
   * Reports that what was read is not what the recipe says: the file that holds it is probed anew, whatever its tuple
   * says (a store through a mapping shows in none).
   */
  reportMismatch(): Promise<void>;
  /**
   * Exactly these bytes. @throws Invalid for a range past the end, Gone when the version is no longer kept, Lost when
   * another program destroyed it, Stale when it changed under the reader.
   */
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/** A file below temp/ that an upload fills before its commit; the commit's record then names it. */
export interface StagedFile {
  readonly name: string;
  write(offset: number, bytes: Uint8Array): Promise<void>;
  /**
   * Adds to its notes, by which the next process can go on with it. Synced now and then, as its bytes are. One call at
   * a time.
   */
  note(notes: readonly Uint8Array[]): Promise<void>;
  /** Durable, at its final length. */
  sync(lengthBytes: number): Promise<void>;
  /** A commit that names it has been accepted: its notes go. */
  named(): Promise<void>;
  /** Removes it: nobody needs it any more. */
  discard(): Promise<void>;
  /** Closes it. With notes it is there for the next process. */
  detach(): Promise<void>;
}

/** A staged file that an earlier process left. */
export interface ResumableFile {
  /** When it was last added to, by the wall clock. */
  readonly atMs: number;
  /** Yields the notes as far as they are whole, in order; `end` is where the next one goes. May be read again. */
  notes(): AsyncIterable<{ note: Uint8Array; end: number }>;
  /** Opens it with this length, shorter or longer than it was. Its `file` is there to be digested. */
  open(lengthBytes: number): Promise<ResumedFile>;
  discard(): Promise<void>;
}

export interface ResumedFile extends StagedFile {
  readonly file: DiskFile;
  /** Drops the notes from here on; further ones follow here. Call it first. */
  cutNotes(end: number): Promise<void>;
}

/** A hindrance: its place and its kind. */
export interface Stuck {
  path: string;
  kind: ErrorKind;
  sentence: string;
}

export interface ContentStatus {
  /** Commits in the log and not yet in the plain folder. */
  pendingCommits: number;
  /**
   * Why applying is stuck (disk full…), as a whole or at one commit and what depends on it, and at the change of which
   * path; retried.
   */
  stuck: Stuck | undefined;
  isScanning: boolean;
  /**
   * Progress where changes of other programs older than 2 s may not be reported yet: so many names were probed, of so
   * many or more; `stuck` at a folder, where it is begun again.
   */
  scan: { why: ScanReason; done: number; total: number; stuck?: Stuck } | undefined;
  /** Paths excluded because their names are too long; at most 100 of them, and the count. */
  excluded: { count: number; examples: string[] };
}

export interface ContentStore {
  /**
   * Begins: checks the marker, cleans what a crash left in temp/, applies `commits` (those that are not applied, in
   * order, with the handles recorded for them), then watches and scans. Resolves when reads can be answered (before the
   * scan ends). @throws Unavailable when the folder is not the volume's now.
   */
  start(commits: AcceptedCommit[], handles: ReadonlyMap<number, Uint8Array>): Promise<void>;
  /**
   * Rebuild after loss of the meta store: forget nothing on disk, take everything in as new (a whole scan). Resolves
   * when the scan is done.
   */
  scan(): Promise<void>;

  /**
   * Never waits for the volume. @throws Gone, Lost, Unavailable; Stale when another program changes it just now: the
   * volume is reported of that within 2 s. An open version is not dropped: a version that a commit's runs name is to be
   * open from the check until the commit has been accepted.
   */
  open(version: VersionId): Promise<OpenVersion>;
  stage(): Promise<StagedFile>;
  /**
   * Reserves space for what a commit will need on disk. @throws NoSpace. Released by the returned function, when the
   * commit is applied or failed.
   */
  reserve(bytes: number): Promise<() => void>;
  /**
   * Looks whether the contents lie where they should; `unavailable` is reported when they do not. @throws Unavailable
   * then, or when it cannot be seen now.
   */
  checkRoot(): Promise<void>;
  /** @throws BadName, NameTooLong for a name that cannot be held where the contents lie. */
  checkName(name: string): void;
  /**
   * Something that is on no drive may have this name: whoever wants to give it to something else waits for this.
   * @throws BadName when it does.
   */
  checkFree(folder: number, name: string): Promise<void> | undefined;
  /**
   * Something may lie in the folder that is on no drive: whoever wants to remove the folder waits for this. @throws
   * NotEmpty when it does.
   */
  checkExcluded(folder: number): Promise<void> | undefined;
  /** Takes a commit; call it in order of seq. */
  accept(commit: AcceptedCommit): void;
  /** Resolves when all up to seq is in the plain folder. */
  whenApplied(seq: number): Promise<void>;

  space(): Promise<DiskSpace>;
  status(): ContentStatus;
  /**
   * The volume's notices, oldest first: versions that other programs destroyed, files kept as a conflict copy and still
   * there, and what else was recorded.
   */
  notices(): Promise<Notice[]>;
  close(): Promise<void>;
}

/** Outcome of a salvage. */
export interface SalvageReport {
  /** Commits that were not in the folder and are now. */
  shown: number;
  /** Newer files of other programs that a commit's name was taken from. */
  conflictCopies: { path: string; conflictCopy: string }[];
  /** Commits that could not be shown: their bytes could not be verified, or their place cannot be reached. */
  missing: { path: string; seq: number }[];
}

/** Opens the store of one volume, and before that saves what only the commit log has. */
export interface ContentEngine {
  /**
   * The meta store is lost, the log is not: resolves when what the log's commits changed is, durably, where the scan
   * that makes the new meta store finds it. The log is as it was, but for hints. Killed anywhere it can be begun again
   * [F69]. @throws Unavailable when the contents are not the volume's now, Corrupt for a damaged log, and what the disk
   * throws: nothing is lost by then.
   */
  salvage(log: Log): Promise<SalvageReport>;
  open(meta: MetaStore, callbacks: ContentCallbacks): Promise<ContentStore>;
  /** Called after the store is closed. */
  close(): Promise<void>;
}

export type { WriteContent };
