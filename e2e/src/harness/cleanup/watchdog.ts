// The watchdog's process: one per sandbox, in a session of its own. It sweeps when it is told to ("sweep" on stdin,
// answered with what it found as one JSON line), when the test process is gone (stdin ends), or when the sandbox's time
// is up.
import { createInterface } from "node:readline";
import { sweep } from "./sweep.ts";

const [folder, deadlineMs] = process.argv.slice(2);
if (folder === undefined || deadlineMs === undefined) throw new Error("usage: watchdog.ts FOLDER DEADLINE_MS");
const swept = folder;

let isSweeping = false;

async function end(isAsked: boolean): Promise<void> {
  if (isSweeping) return;
  isSweeping = true;
  const result = await sweep(swept);
  if (!isAsked) {
    if (result.left.length > 0) process.stderr.write(`Of ${swept} is left: ${result.left.join(", ")}\n`);
    process.exit(result.left.length === 0 ? 0 : 1);
  }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0));
}

setTimeout(() => void end(false), Number(deadlineMs));
createInterface({ input: process.stdin })
  .on("line", (line) => void end(line === "sweep"))
  .on("close", () => void end(false));
