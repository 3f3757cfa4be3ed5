// A clean Debian to install packages in: a tree of its own, entered by chroot in namespaces of mounts and processes.
// When their first process goes, all that runs in it goes, and all that it has mounted. Nobody outside sees its mounts.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ensureDebianRoot } from "../../../scripts/debian-root.mjs";
import { hasCommand, isDebian } from "../../../scripts/system-packages.mjs";
import { type RunResult, type Sandbox, mustRun, run, waitFor } from "../harness/index.ts";

const BEGIN = `set -e
cd "$1"
mount --bind . .
cd "$1"
# Mounts here are seen in namespaces that are made within, as on a system with systemd.
mount --make-rshared .
mount -t proc proc proc
mount -t tmpfs -o mode=755 dev dev
mount -t tmpfs -o mode=755 run run
mknod -m 666 dev/null c 1 3
mknod -m 666 dev/zero c 1 5
mknod -m 666 dev/full c 1 7
mknod -m 666 dev/random c 1 8
mknod -m 666 dev/urandom c 1 9
mknod -m 666 dev/tty c 5 0
mknod -m 666 dev/fuse c 10 229
mkdir -m 1777 dev/shm
ln -s /proc/self/fd dev/fd
# As systemd makes it: fusermount3 finds there whose a drive is.
ln -sf ../proc/self/mounts etc/mtab
echo ready
# The first process takes in those whose parents have gone.
while :; do sleep 1000 & wait $!; done`;

const BEGIN_MS = 30_000;

export interface InsideOptions {
  /** Name of the user who runs it; root when nobody is named. */
  user?: string;
  deadlineMs?: number;
}

/** Why no Debian can be made here; undefined when one can. */
export function debianObstacle(): string | undefined {
  if (process.platform !== "linux" || process.arch !== "x64") return "packages of Linux on x64 are made there";
  if (process.getuid?.() !== 0) return "needs root to enter another tree";
  if (!isDebian()) return "needs Debian's debootstrap and its mirror";
  if (!existsSync("/dev/fuse")) return "the system has no FUSE";
  return ["unshare", "nsenter", "setpriv"].find((name) => !hasCommand(name));
}

export class DebianRoot {
  /** Folder of its tree, as this process sees it, without what is mounted inside. */
  readonly folder: string;
  readonly #sandbox: Sandbox;
  readonly #first: ChildProcess;
  readonly #pid: number;

  private constructor(sandbox: Sandbox, folder: string, first: ChildProcess, pid: number) {
    this.#sandbox = sandbox;
    this.folder = folder;
    this.#first = first;
    this.#pid = pid;
  }

  /** Makes it in the sandbox, which takes it away. Fetches a Debian where none is at hand: about a minute. */
  static async make(sandbox: Sandbox): Promise<DebianRoot> {
    const archive = ensureDebianRoot();
    const folder = sandbox.path("debian");
    mkdirSync(folder);
    await mustRun("tar", ["--numeric-owner", "-xpf", archive, "-C", folder], { deadlineMs: 60_000 });
    for (const name of ["resolv.conf", "hosts"]) cpSync(join("/etc", name), join(folder, "etc", name));
    const namespaces = ["--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"];
    const first = spawn("unshare", [...namespaces, "sh", "-c", BEGIN, "sh", folder], {
      cwd: "/",
      env: sandbox.env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    first.stdout.on("data", (bytes: Buffer) => (said += bytes.toString()));
    await waitFor(() => said.includes("ready") || first.exitCode !== null, BEGIN_MS, "the namespaces");
    const children = readFileSync(`/proc/${first.pid}/task/${first.pid}/children`, "utf8");
    return new DebianRoot(sandbox, folder, first, Number(children.trim()));
  }

  /** A path of it as this process sees it. */
  path(inside: string): string {
    return join(this.folder, inside);
  }

  /** Runs a script in it, to its end or its deadline. */
  run(script: string, options: InsideOptions = {}): Promise<RunResult> {
    const { deadlineMs = 60_000 } = options;
    return run("nsenter", this.#args(script, options), { env: this.#env(options), deadlineMs });
  }

  /** Runs a script in it; throws with its words unless it ends with 0. @returns what it printed */
  async mustRun(script: string, options: InsideOptions = {}): Promise<string> {
    const { deadlineMs = 60_000 } = options;
    const ran = await mustRun("nsenter", this.#args(script, options), { env: this.#env(options), deadlineMs });
    return ran.stdout;
  }

  /** Starts what goes on running; what it prints is given to the caller. */
  start(script: string, options: InsideOptions = {}): ChildProcess {
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    return spawn("nsenter", this.#args(script, options), { cwd: "/", env: this.#env(options), stdio });
  }

  /** Ends all that runs in it. */
  async close(): Promise<void> {
    if (this.#first.exitCode !== null || this.#first.signalCode !== null) return;
    const ended = once(this.#first, "exit");
    this.#first.kill("SIGKILL");
    await ended;
  }

  #args(script: string, { user }: InsideOptions): string[] {
    const as = user === undefined ? [] : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--init-groups"];
    const enter = ["--target", String(this.#pid), "--mount", "--pid", "chroot", this.folder];
    return [...enter, ...as, "sh", "-ec", `cd; ${script}`];
  }

  #env({ user }: InsideOptions): NodeJS.ProcessEnv {
    const home = user === undefined ? "/root" : user === "runnel" ? "/var/lib/runnel" : ["", "home", user].join("/");
    const marks = Object.entries(this.#sandbox.env).filter(([name]) => name.startsWith("RUNNEL_"));
    return {
      ...Object.fromEntries(marks),
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      LC_ALL: "C.UTF-8",
      DEBIAN_FRONTEND: "noninteractive",
      HOME: home,
    };
  }
}
