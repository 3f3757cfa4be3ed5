// A file that an administrator names: links are followed, as where certificates are renewed by moving one.
import { readFile } from "node:fs/promises";

export function readText(path: string): Promise<string> {
  return readFile(path, "utf8");
}
