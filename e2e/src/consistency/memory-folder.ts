// The place where a simulation's clients have their files: in memory where the system has such a place, since a run
// makes and drops thousands of small ones.
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";

const MEMORY = "/dev/shm";

export function memoryFolder(): string {
  return existsSync(MEMORY) ? MEMORY : tmpdir();
}
