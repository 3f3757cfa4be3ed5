// Bodies of requests: short, and JSON but for the file that a browser is started with.
import type { z } from "zod";
import { RunnelError } from "../errors.ts";
import { PAGE_LIMITS } from "./page-limits.ts";

export const JSON_TYPE = "application/json";

/** @throws RunnelError TooLarge as soon as more has come than is allowed. */
export async function bodyOf({ body }: Request): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.length;
    if (bytes > PAGE_LIMITS.bodyBytes) throw new RunnelError("TooLarge", "read a request", "The request is too long.");
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** @throws RunnelError Invalid when it is not JSON, or not of this form; TooLarge */
export async function jsonOf<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  if (request.headers.get("content-type")?.split(";", 1)[0] !== JSON_TYPE)
    throw new RunnelError("Invalid", "read a request", `Send ${JSON_TYPE}.`);
  const text = await bodyOf(request);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RunnelError("Invalid", "read a request", "The request is not JSON.", { cause });
  }
  const { success, data, error: cause } = schema.safeParse(value);
  if (success) return data;
  throw new RunnelError("Invalid", "read a request", "The request has a shape that is not known here.", { cause });
}
