// An entry that is a file of its own: it appears whole, and is Runnel's by a line in it.
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { fromSystemError, RunnelError } from "@runnel/shared/base";
import type { FoundEntry, LoginEntry } from "../login-start.ts";

const OPERATION = "start at login";

export abstract class FileEntry implements LoginEntry {
  readonly place: string;
  readonly #mark: string;

  /** `mark`: a line that is in each file of Runnel's, and in no other. */
  protected constructor(path: string, mark: string) {
    this.place = path;
    this.#mark = mark;
  }

  abstract textOf(command: readonly string[]): string;

  async read(): Promise<FoundEntry | undefined> {
    try {
      return { text: await readFile(this.place, "utf8") };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw this.#failure("read", error);
    }
  }

  isOurs(text: string): boolean {
    return text.split(/\r?\n/).includes(this.#mark);
  }

  async write(text: string): Promise<void> {
    const whole = `${this.place}.new`;
    try {
      await mkdir(dirname(this.place), { recursive: true });
      await writeFile(whole, text);
      await rename(whole, this.place);
    } catch (error) {
      await rm(whole, { force: true }).catch(() => undefined);
      throw this.#failure("written", error);
    }
  }

  async remove(): Promise<void> {
    try {
      await rm(this.place, { force: true });
    } catch (error) {
      throw this.#failure("removed", error);
    }
  }

  #failure(done: string, cause: unknown): RunnelError {
    const { kind } = fromSystemError(cause, OPERATION);
    const { code = kind } = cause as NodeJS.ErrnoException;
    const sentence = `${this.place} cannot be ${done} (${code}). Look at it, and at the folders above it.`;
    return new RunnelError(kind, OPERATION, sentence, { cause });
  }
}

export function isMissing(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");
}
