// What the check of a mount point asks about folders that lie outside all mounts of Runnel.
import { lstat, readdir, readlink } from "node:fs/promises";
import { fromSystemError } from "@runnel/shared";

export interface FolderView {
  /** What is at a path, the last symlink not followed. */
  look(path: string): Promise<{ type: "folder" } | { type: "symlink"; target: string } | { type: "other" | "missing" }>;
  isEmpty(folder: string): Promise<boolean>;
}

export const systemFolders: FolderView = {
  async look(path) {
    try {
      const stat = await lstat(path);
      if (stat.isSymbolicLink()) return { type: "symlink", target: await readlink(path) };
      return { type: stat.isDirectory() ? "folder" : "other" };
    } catch (error) {
      const failure = fromSystemError(error, "look at the mount point");
      if (failure.kind === "NotFound" || failure.kind === "NotFolder") return { type: "missing" };
      throw failure;
    }
  },
  async isEmpty(folder) {
    try {
      return (await readdir(folder)).length === 0;
    } catch (error) {
      throw fromSystemError(error, "look into the mount point");
    }
  },
};
