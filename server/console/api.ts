// Answers of the server, as the console's views take them.

export type Role = "admin" | "user";
export type Right = "read" | "write";
export type StateName = "fine" | "working" | "paused" | "offline" | "attention";

/** The person who is signed in, as `me` says. */
export interface Me {
  /** "" when the server's own user came without a password. */
  name: string;
  role: Role;
  hasPassword: boolean;
  server: string;
}

export interface Overview {
  state: StateName;
  sentence: string;
  next: string | null;
  server: { name: string; version: string; startedMs: number; url: string };
  devicesOn: number;
  devices: number;
  people: number;
  transfers: number;
  /** Bytes of contents that were saved and fetched since the start. */
  workedBytes: number;
  wireBytes: number;
  volumes: VolumeRow[];
}

export interface VolumeRow {
  name: string;
  folder: string;
  state: StateName;
  /** Why it cannot be served now; "" when it can. */
  problem: string;
  files: number;
  bytes: number;
  freeBytes: number;
  totalBytes: number;
  devices: number;
  devicesOn: number;
}

export interface BrowseRow {
  name: string;
  kind: "file" | "folder" | "link";
  bytes: number;
  changedMs: number;
}

export interface OfferedRow {
  name: string;
  path: string;
  volume: string | null;
}

export interface PersonRow {
  name: string;
  role: Role;
  hasPassword: boolean;
  devices: number;
  lastSeenMs: number | null;
}

export interface DeviceRow {
  id: string;
  name: string;
  person: string;
  volumes: { name: string; isReadOnly: boolean }[];
  createdMs: number;
  lastSeenMs: number | null;
  revokedMs: number | null;
  isConnected: boolean;
}

export interface InviteRow {
  id: string;
  volume: string;
  isReadOnly: boolean;
  person: string;
  untilMs: number;
  hasRunOut: boolean;
  usedBy: string | null;
}

export interface MadeInvite {
  invite: string;
  volume: string;
  isReadOnly: boolean;
  address: string;
  untilMs: number;
}

export interface ConnectionRow {
  id: string;
  device: string;
  name: string;
  person: string;
  address: string;
  volumes: string[];
  sinceMs: number;
  sentBytes: number;
  receivedBytes: number;
}

export interface OpenFileRow {
  volume: string;
  path: string;
  device: string;
  name: string;
  person: string;
  sinceMs: number | null;
}

export interface LeaseRow {
  volume: string;
  device: string;
  name: string;
  folders: number | null;
  leaseMs: number;
  waits: string[];
}

export interface TransferRow {
  id: string;
  volume: string;
  path: string;
  direction: "up" | "down";
  name: string;
  doneBytes: number;
  totalBytes: number;
  reusedBytes: number;
  bytesPerSecond: number;
}

export interface SessionRow {
  id: string;
  person: string;
  address: string;
  browser: string;
  startedMs: number;
  lastMs: number;
  isOwn: boolean;
}
