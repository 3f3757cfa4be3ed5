// Paths of Linux: one root, and drives at folders.
import { posix } from "node:path";
import type { PathForm } from "./path-form.ts";

function namesOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

export const posixPaths: PathForm = {
  files: posix,
  mountPoints: "folders",
  isAbsolute: (path) => path.startsWith("/"),
  spell: (path) => posix.resolve(path),
  split: (path) => ({ root: "/", names: namesOf(path) }),
  namesOf,
  fold: (path) => path,
  driveOf: () => undefined,
  folderAt: () => undefined,
  whyNoPath: () => undefined,
  whyNoDrive: () => undefined,
  onDrive: (mountpoint, path) => posix.join(mountpoint, path),
  inVolume: (mountpoint, path) => path.slice(mountpoint.length + 1),
};
