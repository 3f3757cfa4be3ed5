// Makes packages as a person does, by the command, and looks into them with the tools of their systems.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { createServer } from "node:net";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { mustRun } from "../harness/index.ts";

const ROOT = resolve(fileURLToPath(new URL("../../..", import.meta.url)));
/** Long enough to build the addons, in a clone where nothing is built. */
const PACK_MS = 900_000;
/** The same time for all, whatever is committed while the tests run. */
const EPOCH = execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: ROOT, encoding: "utf8" }).trim();

export interface Pack {
  path: string;
  sha256: string;
  durationMs: number;
}

/**
 * Makes packages into a folder. `kinds`: also options of the packer; `env`: what else it is told; `clone`: what is
 * packed.
 * @returns them in the order in which they were made
 */
export async function pack(
  kinds: readonly string[],
  version: string,
  out: string,
  env: NodeJS.ProcessEnv = {},
  clone = ROOT,
): Promise<Pack[]> {
  // Small packages are for who downloads them.
  const args = ["installers/main.ts", ...kinds, "--version", version, "--level", "0", "--out", out];
  const { stdout, durationMs } = await mustRun(process.execPath, args, {
    cwd: clone,
    env: { ...process.env, SOURCE_DATE_EPOCH: EPOCH, ...env },
    deadlineMs: PACK_MS,
  });
  // Beside them stands what had to be installed first.
  const lines = stdout.split("\n").filter((line) => /^[0-9a-f]{64} {2}/.test(line));
  return Promise.all(
    lines.map(async (line) => {
      const [said = "", name = ""] = line.split("  ");
      const path = join(out, name);
      const sha256 = await digestOf(path);
      if (said !== sha256) throw new Error(`${name} is not what SHA256SUMS says.`);
      return { path, sha256, durationMs };
    }),
  );
}

async function digestOf(path: string): Promise<string> {
  const digest = createHash("sha256");
  for await (const bytes of createReadStream(path)) digest.update(bytes as Buffer);
  return digest.digest("hex");
}

/** A port of loopback at which nothing listens now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const closed = once(server, "close");
  server.close();
  await closed;
  if (address === null || typeof address === "string") throw new Error("The system gave no port.");
  return address.port;
}
