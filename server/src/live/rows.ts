// Rows that the console shows of a running server, as they are checked where they leave it.
import { z } from "zod";

const bytes = z.number().min(0);
/** Rows of a list at once. */
export const ROWS_MAX = 500;

export const RowsAsked = z.object({
  /** Key of the last row of the page before. */
  after: z.string().max(400).optional(),
  limit: z.int().min(1).max(ROWS_MAX).default(ROWS_MAX),
});
/** Request of a list, once it is checked. */
export interface RowsRequest {
  after?: string | undefined;
  limit?: number | undefined;
}

/** A device, or a program of the server's own user: then `device` and `name` are "". */
const whose = { device: z.string(), name: z.string(), person: z.string() };

export const ConnectionRow = z.object({
  key: z.string(),
  ...whose,
  /** Name that the client calls itself. */
  who: z.string(),
  address: z.string(),
  /** Names of the volumes that it has attached. */
  volumes: z.array(z.string()),
  /** Wall clock, milliseconds. */
  sinceMs: z.number(),
  /** Bytes to and from the client, headers included. */
  sentBytes: bytes,
  receivedBytes: bytes,
  /** Bytes in a second since it was looked at last; null where nobody did lately. */
  sentPerSecond: bytes.nullable(),
  receivedPerSecond: bytes.nullable(),
  requestsWaiting: z.number(),
});
export type ConnectionRow = z.output<typeof ConnectionRow>;

export const OpenFileRow = z.object({
  key: z.string(),
  volume: z.string(),
  path: z.string(),
  ...whose,
  who: z.string(),
  /** When the client attached: a server is not told of each opening. */
  sinceMs: z.number().nullable(),
});
export type OpenFileRow = z.output<typeof OpenFileRow>;

/** A change that is not answered yet, since somebody with a lease has not acknowledged it. */
export const RecallRow = z.object({
  key: z.string(),
  volume: z.string(),
  /** "" where it is not known. */
  path: z.string(),
  waiting: z.object(whose),
  /** Milliseconds for which it has waited. */
  lastsMs: z.number(),
  holders: z.array(z.object({ ...whose, /** It is waited for so long at most. */ leftMs: z.number() })),
});
export type RecallRow = z.output<typeof RecallRow>;

export const LeaseRow = z.object({
  key: z.string(),
  volume: z.string(),
  ...whose,
  who: z.string(),
  isConnected: z.boolean(),
  /** Count of folders that it follows; null: all of them. */
  folders: z.number().nullable(),
  /** Milliseconds for which it may still answer from what it has; 0: it has no lease. */
  leaseMs: z.number(),
  /** Changes that were sent to it and that it has not acknowledged. */
  unacknowledged: z.number(),
  /** Names of those who wait for it now. */
  waits: z.array(z.string()),
});
export type LeaseRow = z.output<typeof LeaseRow>;

export const TransferRow = z.object({
  key: z.string(),
  volume: z.string(),
  path: z.string(),
  direction: z.enum(["up", "down"]),
  ...whose,
  doneBytes: bytes,
  totalBytes: bytes,
  /** Bytes of those that are there which did not have to cross the wire. */
  reusedBytes: bytes,
  bytesPerSecond: bytes,
});
export type TransferRow = z.output<typeof TransferRow>;

export const StateName = z.enum(["fine", "working", "paused", "offline", "attention"]);
export type StateName = z.output<typeof StateName>;

const Counted = z.object({
  savedBytes: bytes,
  savedWireBytes: bytes,
  fetchedBytes: bytes,
  fetchedWireBytes: bytes,
});

export const VolumeRow = z.object({
  key: z.string(),
  name: z.string(),
  folder: z.string(),
  state: StateName,
  /** Why it cannot be served now, or what is wrong with it; "" when nothing is. */
  problem: z.string(),
  /** An administrator has stopped it. */
  isStopped: z.boolean(),
  /** It was made here, and can be stopped here. */
  isMade: z.boolean(),
  /** Count of its files, and of their bytes; null before they were counted, and while it is not open. */
  files: z.number().nullable(),
  bytes: bytes.nullable(),
  /** Age of that count, milliseconds. */
  countedMs: z.number().nullable(),
  /** Room on the disk with the folder; null while that is not known. */
  freeBytes: bytes.nullable(),
  totalBytes: bytes.nullable(),
  /** Devices with a right on it, and those of them with a connection that has it attached. */
  devices: z.number(),
  devicesOn: z.number(),
  /** Bytes of contents since the server's start, and of data on the wire for them. */
  ...Counted.shape,
});
export type VolumeRow = z.output<typeof VolumeRow>;

export const Overview = z.object({
  state: StateName,
  /** The worst that is to be said of the server. */
  sentence: z.string(),
  next: z.string().nullable(),
  server: z.object({ name: z.string(), version: z.string(), startedMs: z.number(), url: z.string() }),
  /** Devices that are connected, and all that are not revoked. */
  devicesOn: z.number(),
  devices: z.number(),
  connections: z.number(),
  transfers: z.number(),
  /** Bytes of contents that were saved and fetched since the start. */
  workedBytes: bytes,
  /** Bytes of data on the wire for them. */
  workedWireBytes: bytes,
  /** All bytes on the wire since the start, headers and listings included. */
  wireBytes: bytes,
  /** Disk with the logs and indexes; null when it does not say. */
  dataFreeBytes: bytes.nullable(),
  dataTotalBytes: bytes.nullable(),
});
export type Overview = z.output<typeof Overview>;

export const BrowseRow = z.object({
  name: z.string(),
  kind: z.enum(["file", "folder", "link", "other"]),
  bytes,
  changedMs: z.number(),
});
export type BrowseRow = z.output<typeof BrowseRow>;

export const OfferedRow = z.object({
  name: z.string(),
  path: z.string(),
  /** Volume that the folder is, or lies in, or that lies in it. */
  volume: z.string().nullable(),
});
export type OfferedRow = z.output<typeof OfferedRow>;

/** Rows of a list, and the count of those that had no place. */
export interface SomeRows<Row> {
  rows: Row[];
  omitted: number;
}

/** Rows, and the key to go on after; null: these were the last. */
export interface Page<Row> {
  rows: Row[];
  after: string | null;
}
