// A small file that a person named.
import { RunnelError, fromSystemError } from "@runnel/shared/base";
import { readFile } from "node:fs/promises";

/** @throws RunnelError NotFound, Denied, Io with a sentence that names `what` was to be read. */
export async function readText(path: string, what: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { kind } = fromSystemError(cause, "read a file");
    throw new RunnelError(kind, "read a file", `${what} cannot be read from ${path}.`, { cause });
  }
}
