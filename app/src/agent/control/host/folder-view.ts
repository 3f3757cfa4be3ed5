// Answers what the check of a mount point asks about folders that lie outside all mounts of Runnel.
import { access, constants, lstat, readdir, readlink } from "node:fs/promises";
import { fromSystemError, isRunnelError, RunnelError } from "@runnel/shared/base";
import type { PathForm } from "../paths/path-form.ts";
import { thisSystem } from "./this-system.ts";

export interface FolderView {
  /** Form in which the paths of these folders are written. */
  readonly paths: PathForm;
  /** Says what is at a path, the last symlink not followed. @throws RunnelError Denied, NameTooLong */
  probe(
    path: string,
  ): Promise<{ type: "folder" } | { type: "symlink"; target: string } | { type: "other" | "missing" }>;
  /** @throws RunnelError Denied */
  isEmpty(folder: string): Promise<boolean>;
  /** Says whether this user has the rights to; a file system that nobody can write is another matter. */
  mayWrite(folder: string): Promise<boolean>;
}

export const systemFolders: FolderView = {
  paths: thisSystem.paths,
  async probe(path) {
    try {
      const stat = await lstat(path);
      if (stat.isSymbolicLink()) return { type: "symlink", target: await readlink(path) };
      return { type: stat.isDirectory() ? "folder" : "other" };
    } catch (error) {
      const failure = inWords(path, error);
      if (isRunnelError(failure, "NotFound", "NotFolder", "LinkLoop")) return { type: "missing" };
      throw failure;
    }
  },
  async isEmpty(folder) {
    try {
      return (await readdir(folder)).length === 0;
    } catch (error) {
      throw inWords(folder, error);
    }
  },
  async mayWrite(folder) {
    try {
      await access(folder, constants.W_OK);
      return true;
    } catch (error) {
      return fromSystemError(error, "look at the mount point").kind !== "Denied";
    }
  },
};

function inWords(path: string, cause: unknown): RunnelError {
  const { kind, operation, message } = fromSystemError(cause, "look at a path");
  const sentences: Partial<Record<typeof kind, string>> = {
    Denied: `${path} cannot be looked at by this user. Choose a path of your own.`,
    NameTooLong: `${path} is too long for a path. Choose a shorter one.`,
  };
  return new RunnelError(kind, operation, sentences[kind] ?? message, { cause });
}
