// A program in the background, as each system starts it, on Linux, where its session can be seen.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import type { BackgroundProgram } from "../../../src/agent/control/host/system.ts";
import { makeFolder } from "../processes.ts";
import { waitUntil } from "./wait-until.ts";

const STARTER = fileURLToPath(new URL("starter.ts", import.meta.url));
const STARTER_MS = 20_000;

/** Says what it is, goes on until it is told to end by a file, for a minute at most, and says so. */
const PROGRAM = `
  const { existsSync, readFileSync } = require("fs");
  const [, , , session] = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  console.log(session === String(process.pid), process.cwd(), process.env.WORD, process.env.PATH);
  const end = () => { console.error("ended"); process.exit(); };
  setInterval(() => existsSync(process.argv[1]) && end(), 10);
  setTimeout(end, 60_000);`;

const onLinux = process.platform === "linux" ? describe : describe.skip;
onLinux("a program in the background", () => {
  test.each(["linux", "windows"])("outlives its starter, alone in a session, as on %s", async (system) => {
    const folder = makeFolder();
    const [logPath, go] = [join(folder, "log"), join(folder, "go")];
    writeFileSync(logPath, "before\n");
    const program: BackgroundProgram = {
      command: [process.execPath, "-e", PROGRAM, go],
      folder: "/",
      environment: { WORD: "word" },
      logPath,
    };
    const words = ["--disable-warning=ExperimentalWarning", STARTER, system, JSON.stringify(program)];
    execFileSync(process.execPath, words, { cwd: folder, timeout: STARTER_MS, killSignal: "SIGKILL" });
    await waitUntil(() => readFileSync(logPath, "utf8").includes("word"));
    expect(readFileSync(logPath, "utf8")).toBe("before\ntrue / word undefined\n");
    writeFileSync(go, "");
    await waitUntil(() => readFileSync(logPath, "utf8").includes("ended"));
  });
});
