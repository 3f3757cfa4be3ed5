// The place for what a program keeps on macOS.
import { posix } from "node:path";

export function homeFolder(user: string): string {
  return posix.join(user, "Library", "Application Support", "Runnel");
}
