// Preloaded into an agent: holds its event loop while the file that RUNNEL_HOLD names is there, and says so by a file
// of that name with .held.
import { existsSync, writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

const LOOK_MS = 50;

const file = process.env.RUNNEL_HOLD;
const nothing = new Int32Array(new SharedArrayBuffer(4));
if (file !== undefined && isMainThread && /agent[\\/]main\.js$/.test(process.argv[1] ?? "")) {
  const look = () => {
    if (!existsSync(file)) return;
    writeFileSync(`${file}.held`, "");
    while (existsSync(file)) Atomics.wait(nothing, 0, 0, LOOK_MS);
  };
  setInterval(look, LOOK_MS).unref();
}
