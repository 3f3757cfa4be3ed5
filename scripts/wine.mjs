// Wine for the product's own Node: 10 of Debian 13, in a folder that is its root (chroot), since older ones end Node 24
// at once. Where that cannot be made, without root or without Debian, it is the system's Wine, and an older Node.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { isDebian } from "./system-packages.mjs";
import { ensureDebian, ensureWindowsNode, perform, toolFolder } from "./tools.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const SUITE = "trixie";

/** Shows the root of Debian 13 what of this system its programs use, until the input ends. $1: that root */
const ENTER = `
set -e
root=$1; shift
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
for folder; do mkdir -p "$root$folder"; mount --rbind "$folder" "$root$folder"; done
echo ready
exec cat >/dev/null`;

/** Address of the mirror that apt uses here. */
function debianMirror() {
  const { stdout } = spawnSync("apt-get", ["indextargets", "--format", "$(SITE)"], { encoding: "utf8" });
  return (stdout ?? "").split("\n").find((site) => /\/debian\/?$/.test(site));
}

/** Folder with a Debian 13 in which Wine is installed. About 1.5 GB. @throws Error where it cannot be made. */
function ensureWineRoot() {
  return toolFolder("wine-of-debian-13", (into) => {
    ensureDebian("debootstrap", ["debootstrap"]);
    const mirror = debianMirror();
    if (mirror === undefined) throw new Error("apt names no mirror of Debian.");
    const quiet = {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    };
    try {
      perform("debootstrap", ["--variant=minbase", SUITE, into, mirror], quiet);
      const install = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "wine", "wine64"];
      for (const args of [["apt-get", "-qq", "update"], install]) perform("chroot", [into, ...args], quiet);
      writeFileSync(join(into, "etc", "hosts"), "127.0.0.1 localhost\n::1 localhost\n");
    } catch (error) {
      rmSync(into, { recursive: true, force: true });
      throw error;
    }
  });
}

function newWineRoot() {
  if (process.getuid?.() !== 0 || !isDebian()) return undefined;
  try {
    return ensureWineRoot();
  } catch (error) {
    console.error(`There is no newer Wine here, so the system's is used: ${error.message}`);
    return undefined;
  }
}

/** Says whether programs run there under the Node that is shipped, or under an older one. */
export const hasOwnNodeUnderWine = () => newWineRoot() !== undefined;

/** A Wine with a prefix of its own, for tests. */
export class Wine {
  /** Variables for what runs in it. */
  env;
  /** Path of node.exe. */
  node;
  #holder;
  #before;
  /** Empty folders in the root, where others were shown. */
  #shown;

  constructor(node, env, { before = [], holder, shown = [] } = {}) {
    this.node = node;
    this.env = env;
    this.#before = before;
    this.#holder = holder;
    this.#shown = shown;
  }

  /** Makes the prefix. `env`: variables of all that runs in it; `shows`: folders that it can reach, as Z:\… */
  static async start(prefix, env, shows) {
    const root = newWineRoot();
    const whole = {
      ...env,
      WINEPREFIX: prefix,
      WINEDEBUG: "-all",
      WINEDLLOVERRIDES: "mscoree,mshtml=",
      NODE_SKIP_PLATFORM_CHECK: "1",
      // Arguments lose characters in any other encoding.
      LC_ALL: "C.UTF-8",
    };
    // Code that was compiled for another system.
    delete whole.NODE_COMPILE_CACHE;
    mkdirSync(prefix, { recursive: true });
    if (root === undefined) {
      ensureDebian("wine", ["wine", "wine64"]);
      return new Wine(ensureWindowsNode("forWine8"), whole).#ready();
    }
    // They name files that this root does not have.
    for (const name of ["SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS"]) delete whole[name];
    const args = ["--mount", "--propagation", "private", "sh", "-c", ENTER, "sh", root, ROOT, ...shows];
    const holder = spawn("unshare", args, { env: whole, stdio: ["pipe", "pipe", "inherit"] });
    const [line] = await Promise.race([
      once(createInterface({ input: holder.stdout }), "line"),
      once(holder, "exit").then(() => ["it ended"]),
    ]);
    if (line !== "ready") throw new Error(`The root of Wine cannot be entered: ${line}`);
    const before = ["nsenter", `--mount=/proc/${holder.pid}/ns/mnt`, "chroot", root];
    const shown = shows.map((folder) => join(root, folder));
    return new Wine(ensureWindowsNode("own"), whole, { before, holder, shown }).#ready();
  }

  #ready() {
    this.#begin();
    this.#perform("wine", "winecfg", "-v", "win10");
    return this;
  }

  /** Begins what Wine takes for one run of the system, which otherwise ends with the last program. */
  #begin() {
    this.#perform("wineserver", "-p");
  }

  #perform(...words) {
    const [command, ...args] = this.command(...words);
    perform(command, args, { env: this.env, stdio: "ignore" });
  }

  /** Ends all that runs in it, and starts the system anew. */
  restart() {
    this.#end();
    this.#begin();
  }

  #end() {
    const [command, ...args] = this.command("wineserver", "-k");
    spawnSync(command, args, { env: this.env, stdio: "ignore" });
    // Until nothing of it is left.
    const [wait, ...more] = this.command("wineserver", "-w");
    spawnSync(wait, more, { env: this.env, stdio: "ignore" });
  }

  /** Words of the command that runs a program of Wine's own there, as `wine`. */
  command(...words) {
    return [...this.#before, ...words];
  }

  /** Ends all that runs in it. */
  async close() {
    this.#end();
    if (this.#holder === undefined || this.#holder.exitCode !== null) return;
    const ended = once(this.#holder, "exit");
    this.#holder.stdin.end();
    await ended;
    for (const folder of this.#shown) rmdirSync(folder);
  }
}
