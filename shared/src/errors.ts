// The one class of expected failures. Its kind is set where the cause is known, crosses the wire and the addon
// unchanged, and becomes an exit code or a close code in the tables below, an errno or an NTSTATUS in native/src/drive;
// nobody matches on messages.

/** Append-only: a kind is sent on the wire by its name, so none is ever renamed or removed. */
export const ERROR_KINDS = [
  "NotFound",
  "Unknown",
  "Stale",
  "Gone",
  "Exists",
  "NotEmpty",
  "NoSpace",
  "Quota",
  "Denied",
  "Revoked",
  "TooLarge",
  "BadName",
  "Busy",
  "Corrupt",
  "Epoch",
  "Version",
  "Invalid",
  "Unreachable",
  "Interrupted",
  "ReadOnly",
  "NotFolder",
  "IsFolder",
  "Unsupported",
  "Unavailable",
  "Lost",
  "Io",
  "NameTooLong",
  "LinkLoop",
  "NoAttribute",
] as const;

export type ErrorKind = (typeof ERROR_KINDS)[number];

/**
 * Details that an error carries for whoever has to act on it. Every field is optional and checked when it comes from
 * outside.
 */
export interface ErrorDetail {
  /** NotFound: known absent as of this seq. */
  asOf?: number;
  /** Stale: the seq of the version that is current. */
  current?: number;
  /** TooLarge, Quota: the limit, in the unit the operation counts. */
  limit?: number;
  /** Busy: milliseconds after which trying again makes sense. */
  retryAfterMs?: number;
  /** Version: the format or protocol number that is needed. */
  need?: number;
  /** BadName, Invalid: the rule that was broken. */
  rule?: string;
  /** Exists: the node that holds the name. */
  node?: number;
  /** Stale: what changed, some of it. */
  nodes?: readonly number[];
}

export class RunnelError extends Error {
  readonly kind: ErrorKind;
  /** Short verb phrase for what was being done: "rename", "open volume". */
  readonly operation: string;
  readonly detail: ErrorDetail;

  constructor(
    kind: ErrorKind,
    operation: string,
    message: string,
    options: { detail?: ErrorDetail; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "RunnelError";
    this.kind = kind;
    this.operation = operation;
    this.detail = options.detail ?? {};
  }
}

/** True for a RunnelError of one of these kinds (of any kind when none is named). */
export function isRunnelError(error: unknown, ...kinds: ErrorKind[]): error is RunnelError {
  return error instanceof RunnelError && (kinds.length === 0 || kinds.includes(error.kind));
}

/** Exit codes of the command line: 0 done, 1 failed, 2 used wrongly, 3 cannot reach the server, 4 refused. */
export const EXIT_CODE_OF_KIND: Record<ErrorKind, number> = {
  NotFound: 1,
  Unknown: 1,
  Stale: 1,
  Gone: 1,
  Exists: 1,
  NotEmpty: 1,
  NoSpace: 1,
  Quota: 1,
  Denied: 4,
  Revoked: 4,
  TooLarge: 1,
  BadName: 1,
  Busy: 1,
  Corrupt: 1,
  Epoch: 1,
  Version: 4,
  Invalid: 2,
  Unreachable: 3,
  Interrupted: 1,
  ReadOnly: 1,
  NotFolder: 1,
  IsFolder: 1,
  Unsupported: 1,
  Unavailable: 1,
  Lost: 1,
  Io: 1,
  NameTooLong: 1,
  LinkLoop: 1,
  NoAttribute: 1,
};

/** WebSocket close codes (RFC 6455 §7.4.2, private range) for errors that end a connection. 4000 is any other. */
export const CLOSE_CODE_OF_KIND: Partial<Record<ErrorKind, number>> = {
  Invalid: 4001,
  TooLarge: 4002,
  Revoked: 4003,
  Version: 4004,
  Busy: 4005,
  Unreachable: 4006,
};
export const CLOSE_CODE_OTHER = 4000;

const KIND_OF_ERRNO: Record<string, ErrorKind> = {
  ENOENT: "NotFound",
  EEXIST: "Exists",
  ENOTEMPTY: "NotEmpty",
  ENOSPC: "NoSpace",
  EDQUOT: "Quota",
  EACCES: "Denied",
  EPERM: "Denied",
  ENAMETOOLONG: "NameTooLong",
  EROFS: "ReadOnly",
  ENOTDIR: "NotFolder",
  EISDIR: "IsFolder",
  ELOOP: "LinkLoop",
  EXDEV: "Unavailable",
  EFBIG: "TooLarge",
  EOPNOTSUPP: "Unsupported",
  ECONNREFUSED: "Unreachable",
  ECONNRESET: "Unreachable",
  ENOTFOUND: "Unreachable",
  EHOSTUNREACH: "Unreachable",
  ETIMEDOUT: "Unreachable",
};

/**
 * Wraps an error of the operating system (one with a `code` such as "ENOENT"); a RunnelError passes through as it is.
 */
export function fromSystemError(error: unknown, operation: string): RunnelError {
  if (error instanceof RunnelError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  const kind = (typeof code === "string" && KIND_OF_ERRNO[code]) || "Io";
  const message = error instanceof Error ? error.message : String(error);
  return new RunnelError(kind, operation, message, { cause: error });
}
