// A place for one test: a temp folder, and every process, mount and emulator that the test starts. cleanup() takes all
// of it away, whatever state it is in; a watchdog process does the same when this process dies or the time is up.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, realpathSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { type LinkEmulator, type LinkShape, startEmulator } from "../emulator/index.ts";
import { Device, type ServerProcess, serve } from "./product.ts";
import { SANDBOX_MARK, type Swept } from "./cleanup/sweep.ts";

const WATCHDOG = fileURLToPath(new URL("cleanup/watchdog.ts", import.meta.url));
/** The watchdog's patience with a test process that neither dies nor cleans up. */
const DEADLINE_MS = 10 * 60_000;

export class Sandbox {
  /** Short, since control sockets live below it and their paths may have 107 bytes. */
  readonly folder: string;
  /** Environment of all that is started here. */
  readonly env: NodeJS.ProcessEnv;
  readonly #watchdog: ChildProcessByStdio<Writable, Readable, null>;
  readonly #emulators: LinkEmulator[] = [];
  #cleaned: Promise<Swept> | undefined;

  constructor(deadlineMs = DEADLINE_MS) {
    this.folder = realpathSync(mkdtempSync(join(tmpdir(), "rnl-")));
    this.env = { ...process.env, [SANDBOX_MARK]: this.folder, XDG_RUNTIME_DIR: this.folder };
    delete this.env["RUNNEL_HOME"];
    this.#watchdog = spawn(process.execPath, [WATCHDOG, this.folder, String(deadlineMs)], {
      cwd: "/",
      detached: true,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#watchdog.stdin.on("error", () => {}); // cleanup() finds out.
    // A test that forgets to clean up still ends, and the watchdog then sees it.
    this.#watchdog.unref();
    (this.#watchdog.stdout as Socket).unref();
    (this.#watchdog.stdin as Socket).unref();
  }

  /** A path in the sandbox. */
  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  /** Makes a folder in the sandbox, if need be, and returns its path. */
  makeFolder(...parts: string[]): string {
    const path = this.path(...parts);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** Starts a server; names and folders are made up where not given. */
  startServer(
    options: {
      volumes?: Record<string, string>;
      data?: string;
      listen?: string;
      leaseTerm?: number;
      readyMs?: number;
      args?: readonly string[];
      env?: NodeJS.ProcessEnv | undefined;
    } = {},
  ): Promise<ServerProcess> {
    const { volumes = { docs: this.makeFolder("served") }, data = this.makeFolder("data") } = options;
    return serve({ ...options, volumes, data, env: { ...this.env, ...options.env } });
  }

  /** Puts a link in front of a port, in a process of its own. Programs take what listens there for the server. */
  async startEmulator(port: number, shape: Partial<LinkShape> = {}): Promise<LinkEmulator> {
    const emulator = await startEmulator({ target: { host: "127.0.0.1", port }, shape }, this.env);
    this.#emulators.push(emulator);
    this.shareSecret(port, emulator.port);
    return emulator;
  }

  /** Lets what a server at the one port proves be taken for proved at the other, too. */
  shareSecret(port: number, otherPort: number): void {
    const [secret, other] = [port, otherPort].map((each) => this.path("runnel", `127.0.0.1-${each}.secret`));
    if (existsSync(secret ?? "")) copyFileSync(secret ?? "", other ?? "");
  }

  /** A user's machine of this name, with its own agent. */
  device(name = "a", env: NodeJS.ProcessEnv = {}): Device {
    return new Device(this.makeFolder("home", name), { ...this.env, ...env });
  }

  /** The watchdog has ended: nothing of the sandbox is left. */
  get hasBeenSwept(): boolean {
    return this.#watchdog.exitCode !== null || this.#watchdog.signalCode !== null;
  }

  /** Takes everything away. Throws when something could not be. Call it in afterEach; a second call does nothing. */
  cleanup(): Promise<Swept> {
    this.#cleaned ??= this.#cleanUp();
    return this.#cleaned;
  }

  async #cleanUp(): Promise<Swept> {
    await Promise.all(this.#emulators.map((emulator) => emulator.close()));
    if (this.hasBeenSwept) throw new Error(`The watchdog has swept ${this.folder} already: the test took too long.`);
    this.#watchdog.ref();
    const answer = once(createInterface({ input: this.#watchdog.stdout }), "line");
    const exit = once(this.#watchdog, "close").then(() => {
      throw new Error(`The watchdog ended without an answer; look at ${this.folder}.`);
    });
    this.#watchdog.stdin.write("sweep\n");
    const [line] = (await Promise.race([answer, exit])) as [string];
    exit.catch(() => {});
    const swept = JSON.parse(line) as Swept;
    if (swept.left.length > 0) throw new Error(`Could not clean up ${this.folder}: ${swept.left.join(", ")}`);
    return swept;
  }
}
