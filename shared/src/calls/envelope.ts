// Messages around calls. JSON, one message a text, checked where it comes in. Both ends open with a hello.
//
//     client → server    {hello: {protocol, version, features}}  {id, request: {verb, …}}  {cancel: id}
//     server → client    {hello: {protocol, version, pid, features}}  {id, part}…  {id, result} | {id, error}
//     error              {kind, operation, message, detail}
//
// Every request is answered by exactly one result or error, which parts may precede. An unknown verb is answered
// Unsupported, a request that does not fit its verb's schema Invalid. A text that is none of these messages ends the
// connection.
import { z } from "zod";
import { ERROR_KINDS, type ErrorDetail, RunnelError } from "../errors.ts";
import { features } from "../features.ts";

const VERB_CHARACTERS_MAX = 64;

export const Hello = z.object({
  /** Raised when an old end would misunderstand a new one. */
  protocol: z.int(),
  version: z.string().max(256),
  pid: z.int().optional(),
  features,
});
export type Hello = z.infer<typeof Hello>;

const count = z.number();

const Detail: z.ZodType<ErrorDetail> = z.object({
  asOf: count.exactOptional(),
  current: count.exactOptional(),
  limit: count.exactOptional(),
  retryAfterMs: count.exactOptional(),
  need: count.exactOptional(),
  rule: z.string().exactOptional(),
  node: count.exactOptional(),
  nodes: z.array(count).exactOptional(),
});

const CallError = z.object({ kind: z.enum(ERROR_KINDS), operation: z.string(), message: z.string(), detail: Detail });

export const ClientMessage = z.union([
  z.strictObject({ hello: Hello }),
  z.strictObject({
    id: z.int().nonnegative(),
    request: z.looseObject({ verb: z.string().max(VERB_CHARACTERS_MAX) }),
  }),
  z.strictObject({ cancel: z.int().nonnegative() }),
]);
export type ClientMessage = z.infer<typeof ClientMessage>;

/** Results and parts are checked against the schemas of the verb that was asked. */
export const ServerMessage = z.union([
  z.strictObject({ hello: Hello }),
  z.strictObject({ id: z.int(), part: z.unknown() }),
  z.strictObject({ id: z.int(), result: z.unknown() }),
  z.strictObject({ id: z.int(), error: CallError }),
]);
export type ServerMessage = z.infer<typeof ServerMessage>;

export function toCallError({ kind, operation, message, detail }: RunnelError): z.infer<typeof CallError> {
  return { kind, operation, message, detail };
}

export function fromCallError({ kind, operation, message, detail }: z.infer<typeof CallError>): RunnelError {
  return new RunnelError(kind, operation, message, { detail });
}

/** @throws RunnelError Invalid when the text is not JSON or not of this shape. */
export function parseMessage<T>(schema: z.ZodType<T>, text: string): T {
  const operation = "read a call's message";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RunnelError("Invalid", operation, "A message is not JSON.", { cause });
  }
  const { success, data, error: cause } = schema.safeParse(value);
  if (success) return data;
  throw new RunnelError("Invalid", operation, "A message has a shape that is not known here.", { cause });
}
