// Message by which a side ends a channel: a result, or an error that the other side can act on (W6, W53).
import { ERROR_KINDS, RunnelError, isRunnelError } from "../errors.ts";
import type { ErrorDetail, ErrorKind } from "../errors.ts";
import { LIMITS } from "../limits.ts";
import { encodeMessage } from "./cbor.ts";

export type End = { result: unknown } | { error: RunnelError };

/** Characters of an error's sentence. */
const MESSAGE_MAX = 1000;

/**
 * @throws TooLarge: the other side would close the connection over it (rule W3), so it concerns its own request only.
 */
export function encodeBounded(message: unknown, operation: string): Uint8Array {
  const bytes = encodeMessage(message);
  if (bytes.length <= LIMITS.controlBytes) return bytes;
  throw new RunnelError("TooLarge", operation, `A message of ${bytes.length} bytes is too large to be sent.`, {
    detail: { limit: LIMITS.controlBytes, rule: "W3" },
  });
}

export function encodeEnd(end: End): Uint8Array {
  if ("error" in end)
    return encodeMessage([
      1,
      end.error.kind,
      end.error.operation,
      end.error.message.slice(0, MESSAGE_MAX),
      end.error.detail,
    ]);
  try {
    return encodeBounded(end.result === undefined ? [0] : [0, end.result], "send result");
  } catch (error) {
    return encodeEnd({ error: asRunnelError(error, "send result") });
  }
}

export function decodeEnd(message: unknown): End {
  if (Array.isArray(message) && message[0] === 0) return { result: message[1] };
  if (Array.isArray(message) && message[0] === 1) {
    const [, kind, operation, words, detail] = message as unknown[];
    const known = ERROR_KINDS.includes(kind as ErrorKind) ? (kind as ErrorKind) : "Io";
    const text = typeof words === "string" ? words.slice(0, MESSAGE_MAX) : "The other side gave no reason.";
    return {
      error: new RunnelError(known, typeof operation === "string" ? operation : "request", text, {
        detail: checkDetail(detail),
      }),
    };
  }
  throw new RunnelError("Invalid", "receive end", "An end has the wrong form.", { detail: { rule: "W6" } });
}

function checkDetail(detail: unknown): ErrorDetail {
  const checked: ErrorDetail = {};
  if (typeof detail !== "object" || detail === null) return checked;
  const from = detail as Record<string, unknown>;
  for (const key of ["asOf", "current", "limit", "retryAfterMs", "need", "node"] as const) {
    const value = typeof from[key] === "bigint" ? Number(from[key]) : from[key];
    if (typeof value === "number" && Number.isFinite(value)) checked[key] = value;
  }
  const { nodes } = from;
  if (Array.isArray(nodes))
    checked.nodes = nodes.slice(0, LIMITS.changedNodes).filter((node): node is number => Number.isSafeInteger(node));
  if (typeof from["rule"] === "string") checked.rule = from["rule"].slice(0, 100);
  return checked;
}

export function asRunnelError(error: unknown, operation: string): RunnelError {
  if (isRunnelError(error)) return error;
  return new RunnelError("Io", operation, error instanceof Error ? error.message : String(error), { cause: error });
}
