// Mounts and unmounts a drive so many times (first argument) at a place in a folder (second), a program using it now
// and then. Says on standard output what the process holds of the system after the first rounds and after the last.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { driveAt } from "./busy-addons.ts";

const EARLY_ROUND = 20;
const USED_EVERY = 10;
/** Time for which the threads of a mount that has ended may still be listed. */
const SETTLE_MS = 10_000;

const [rounds = "", folder = ""] = process.argv.slice(2);
const mountpoint = join(folder, "mount");

/** Threads, descriptors, mounts. */
const held = (): number[] => [
  readdirSync("/proc/self/task").length,
  readdirSync("/proc/self/fd").length,
  readFileSync("/proc/self/mountinfo", "utf8").split("\n").length,
];

async function mountOnce(round: number): Promise<void> {
  const fake = driveAt(folder);
  await fake.start();
  if (round % USED_EVERY === 0) {
    fake.fill("folder", 3);
    const program = spawn("timeout", ["-k", "1", "20", "ls", "-lR", mountpoint], { cwd: "/", stdio: "ignore" });
    const [code] = (await once(program, "exit")) as [number | null];
    if (code !== 0) throw new Error(`the program ended with ${code}`);
  }
  await fake.close(round % 2 === 0);
}

let early = held();
let late = held();
for (let round = 1; round <= Number(rounds); round++) {
  await mountOnce(round);
  if (round === EARLY_ROUND) early = held();
}
for (const startMs = performance.now(); performance.now() - startMs < SETTLE_MS;) {
  late = held();
  if (late.every((count, index) => count <= (early[index] ?? 0))) break;
  await new Promise((resolve) => setTimeout(resolve, 20));
}
console.log(JSON.stringify(early.map((count, index) => ({ early: count, late: late[index] }))));
