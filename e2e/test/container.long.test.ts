// Makes a container of the server by its Containerfile, over a Debian that was fetched without a registry of images,
// and serves a folder from it: a drive of this system is mapped over TLS. Engines with namespaces of their own are not
// asked for: buildah runs it in a chroot, on this system's network.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ensureDebianRoot } from "../../scripts/debian-root.mjs";
import { ensureDebian } from "../../scripts/tools.mjs";
import { Sandbox, mustRun, onMount, waitFor } from "../src/harness/index.ts";
import { debianObstacle } from "../src/installers/debian-root.ts";
import { freePort, pack } from "../src/installers/packs.ts";

const ALL_MS = 20 * 60_000;
const BUILD_MS = 600_000;
const READY_MS = 60_000;
/** The user of the server in the container. */
const USER = 7473;

const why = debianObstacle();
const testInContainer = why === undefined ? test : test.skip;
const shown = why === undefined ? "" : ` (skipped: ${why})`;

let sandbox: Sandbox;
/** Options by which buildah keeps its images here only. */
let place: string[];
let serving: ChildProcess | undefined;

beforeAll(() => {
  if (why !== undefined) return;
  ensureDebian("buildah", ["buildah"]);
  sandbox = new Sandbox(ALL_MS);
  place = ["--root", sandbox.path("images"), "--runroot", sandbox.path("run"), "--storage-driver", "vfs"];
}, ALL_MS);

afterAll(async () => {
  serving?.kill("SIGKILL");
  await sandbox?.cleanup();
}, 120_000);

async function buildah(...words: string[]): Promise<string> {
  const { stdout } = await mustRun("buildah", [...place, ...words], { env: sandbox.env, deadlineMs: BUILD_MS });
  return stdout.trim();
}

testInContainer(
  `a container of the server serves a folder as its own user, and ends when it is told to${shown}`,
  async () => {
    const base = await buildah("from", "scratch");
    await buildah("add", "--quiet", base, ensureDebianRoot(), "/");
    await buildah("commit", "--quiet", base, "docker.io/library/debian:12-slim");
    const out = sandbox.makeFolder("out");
    await pack(["container"], "7.0.0", out);
    await buildah("build", "--isolation", "chroot", "--pull-never", "--quiet", "--tag", "runnel-server", out);

    const container = await buildah("from", "--pull-never", "localhost/runnel-server");
    const docs = sandbox.path("docs");
    mkdirSync(docs);
    chownSync(docs, USER, USER);
    const port = await freePort();
    const inspected = JSON.parse(await buildah("inspect", container)) as {
      OCIv1: { config: { Entrypoint: string[] } };
    };
    const { Entrypoint: entry } = inspected.OCIv1.config;
    const options = ["--volume", "docs=/srv/docs", "--listen", `127.0.0.1:${port}`, "--tls", "--json"];
    const words = [
      "run",
      "--isolation",
      "chroot",
      "--volume",
      `${docs}:/srv/docs`,
      container,
      "--",
      ...entry,
      ...options,
    ];
    serving = spawn("buildah", [...place, ...words], {
      cwd: "/",
      env: sandbox.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const said: string[] = [];
    if (serving.stdout !== null) createInterface({ input: serving.stdout }).on("line", (line) => said.push(line));
    await waitFor(() => said[0], READY_MS, "the server");

    const asks = ["/usr/bin/runnel", "invite", "docs", "--data", "/var/lib/runnel/server", "--json"];
    const run = ["run", "--isolation", "chroot", container, "--", ...asks, "--address", `127.0.0.1:${port}`];
    const { invite } = JSON.parse(await buildah(...run)) as { invite: string };
    const device = sandbox.device();
    await device.ask(["login", invite]);
    const drive = sandbox.makeFolder("drive");
    await device.mount(`wss://127.0.0.1:${port}/docs`, drive);
    await onMount('echo hello >"$1/file"', [drive]);
    await device.flush(drive, { up: true });
    await device.ask(["stop"]);
    expect(readFileSync(`${docs}/file`, "utf8")).toBe("hello\n");

    const [pid = ""] = (await mustRun("pgrep", ["-u", String(USER), "-f", "runnel.mjs serve"])).stdout.split("\n");
    const ended = once(serving, "exit");
    process.kill(Number(pid), "SIGTERM");
    expect((await ended)[0]).toBe(0);
  },
  ALL_MS,
);
