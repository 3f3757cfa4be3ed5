// The administrator's API: HTTP with JSON over a socket in the server's own folder. Each request is a POST to its name.
import { ERROR_KINDS, LIMITS, label } from "@runnel/shared/base";
import { z } from "zod";
import { auditFilter, auditPage } from "../audit/audit-filter.ts";

export const ADMIN_SOCKET = "admin.sock";
export const ADMIN_BYTES_MAX = 64 * 1024;
/** Header by which a command says whose it is, percent-encoded: who may open the socket is believed. */
export const ADMIN_USER_HEADER = "runnel-user";

const DAY_MS = 24 * 3_600_000;
const LASTS_DAYS_MAX = 366;
const PATH_MAX = 32 * 1024;
export const OPENERS_MAX = 500;

export const ADMIN_REQUESTS = {
  invite: z.object({
    volume: z.string().max(LIMITS.nameBytes),
    isReadOnly: z.boolean(),
    /** Whom it is for; "" when that is not said. */
    person: label,
    lastsMs: z
      .int()
      .min(1)
      .max(LASTS_DAYS_MAX * DAY_MS),
    /** host or host:port that its user reaches the server by; left out: this machine's name and the server's port. */
    address: z.string().max(300).optional(),
  }),
  devices: z.object({}),
  revoke: z.object({ device: z.string().max(LIMITS.deviceName) }),
  right: z.object({
    device: z.string().max(LIMITS.deviceName),
    volume: z.string().max(LIMITS.nameBytes),
    right: z.enum(["read", "write", "none"]),
  }),
  invites: z.object({}),
  withdraw: z.object({ invite: z.string().max(LIMITS.deviceName) }),
  /** `path` begins at the volume's root; left out: all who have the volume open. */
  openers: z.object({ volume: z.string().max(LIMITS.nameBytes), path: z.string().max(PATH_MAX).optional() }),
  audit: auditFilter,
  auditCsv: auditFilter,
  /** Opens the console on this machine's loopback: `file` is for a browser, `link` for a person. */
  console: z.object({ way: z.enum(["file", "link"]) }),
} as const;
export type AdminName = keyof typeof ADMIN_REQUESTS;
/** Requests that the console has as well. */
export type ActName = Exclude<AdminName, "console">;
export type AdminRequest<Name extends AdminName> = z.input<(typeof ADMIN_REQUESTS)[Name]>;

const device = z.object({
  id: z.string(),
  name: z.string(),
  person: z.string(),
  volumes: z.array(z.object({ name: z.string(), isReadOnly: z.boolean() })),
  createdMs: z.number(),
  revokedMs: z.number().nullable(),
  /** When it was connected last; `null`: never, or not since this is written down. */
  seenMs: z.number().nullable(),
  isConnected: z.boolean(),
});

const listedInvite = z.object({
  id: z.string(),
  volume: z.string(),
  isReadOnly: z.boolean(),
  person: z.string(),
  untilMs: z.number(),
  hasRunOut: z.boolean(),
  /** The name of the device that used it. */
  usedBy: z.string().nullable(),
});

const opener = z.object({
  /** Id and name of the device; "" for a program of the server's own user, and for a client from before a restart. */
  device: z.string(),
  name: z.string(),
  /** Name that the client calls itself. */
  who: z.string(),
  /** When it attached; `null` for a client from before a restart. */
  sinceMs: z.number().nullable(),
  isConnected: z.boolean(),
  /** Milliseconds for which it may still answer from what it has. */
  leaseMs: z.number(),
  /** Count of folders that it follows; `null`: all of them. */
  folders: z.number().nullable(),
  /** It had the file at the path open lately. */
  hasRead: z.boolean(),
});

export const ADMIN_RESULTS = {
  invite: z.object({
    invite: z.string(),
    volume: z.string(),
    isReadOnly: z.boolean(),
    address: z.string(),
    untilMs: z.number(),
  }),
  devices: z.object({ devices: z.array(device) }),
  revoke: z.object({ revoked: device }),
  right: z.object({ device }),
  invites: z.object({ invites: z.array(listedInvite) }),
  withdraw: z.object({ withdrawn: listedInvite }),
  /** The first OPENERS_MAX of `total`. */
  openers: z.object({ openers: z.array(opener), total: z.number() }),
  audit: auditPage,
  /** Rows of the page that `audit` gives, with a row of titles before those of the first one. */
  auditCsv: z.object({ csv: z.string(), count: z.number(), after: z.number().nullable() }),
  /** `opens`: path of the file, or the link; good once and for a minute. */
  console: z.object({ url: z.string(), opens: z.string() }),
} as const;
export type AdminResult<Name extends AdminName> = z.output<(typeof ADMIN_RESULTS)[Name]>;

export const ADMIN_ERROR = z.object({
  error: z.object({ kind: z.enum(ERROR_KINDS), operation: z.string(), message: z.string() }),
});
