// A mount as the contract's engine: one process serves it, another uses it, both in a mount namespace of their own
// where we may make one. The test's process never touches the mount. A watchdog ends what hangs: it aborts the kernel's
// connection, then kills.
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type MountPlace, newMountPlace } from "./mount-place.ts";
import { RIG_SETTINGS, waitUntil, type Agent, type DriveRig, type RigSettings, type TestProgram } from "./drive-rig.ts";

const CALL_TIMEOUT_MS = 20_000;
const EXIT_TIMEOUT_MS = 5_000;

const isLinux = process.platform === "linux";
const isRoot = isLinux && process.getuid?.() === 0;
/** Before a command: what it mounts is seen by nobody else, and goes with it. */
export const OWN_NAMESPACE: readonly string[] = isRoot ? ["unshare", "-m", "--propagation", "private"] : [];

interface Answer {
  id: number;
  result?: unknown;
  error?: { message: string; errno?: number; kind?: string };
}

/** A child that answers calls over IPC. */
class Remote {
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
  readonly exited: Promise<void>;
  readonly #waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>();
  #nextId = 1;

  constructor(command: string[]) {
    const [program = "", ...args] = command;
    this.child = spawn(program, args, {
      cwd: "/",
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      serialization: "advanced",
      env: { ...process.env, UV_THREADPOOL_SIZE: "16", NODE_OPTIONS: "" },
    });
    this.ready = this.#wait(0);
    this.exited = new Promise((resolve) => {
      this.child.once("exit", () => {
        for (const { reject } of this.#waiting.values()) reject(new Error("the process has ended"));
        this.#waiting.clear();
        resolve();
      });
    });
    this.child.on("message", (answer: Answer) => this.#take(answer));
  }

  #take({ id, result, error }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(Object.assign(new Error(error.message), { errno: error.errno, kind: error.kind }));
  }

  #wait(id: number): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        reject(new Error("no answer in time"));
      }, CALL_TIMEOUT_MS);
      this.#waiting.set(id, {
        resolve: (result) => (clearTimeout(timer), resolve(result)),
        reject: (error) => (clearTimeout(timer), reject(error)),
      });
    });
  }

  call(method: string, args: unknown[]): Promise<unknown> {
    const id = this.#nextId++;
    const answer = this.#wait(id);
    this.child.send({ id, method, args });
    return answer;
  }

  /** True when it has ended in time. */
  async end(signal: NodeJS.Signals): Promise<boolean> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return true;
    this.child.kill(signal);
    const late = new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), EXIT_TIMEOUT_MS).unref();
    });
    return Promise.race([this.exited.then(() => true), late]);
  }
}

/** Every method a call of the remote process. */
function proxy<T>(remote: Remote): T {
  return new Proxy(
    {},
    {
      get: (_target, name) =>
        name === "then" ? undefined : (...args: unknown[]): Promise<unknown> => remote.call(String(name), args),
    },
  ) as T;
}

export interface FuseRig extends DriveRig {
  mountpoint: string;
  /** Runs a shell command in the mount's namespace; its exit code, or the signal that ended it. */
  shell(command: string): Promise<number | string>;
  readOften(path: string, forMs: number): Promise<{ count: number; seen: string[] }>;
  serverExited: Promise<void>;
}

interface Parts {
  folder: string;
  place: MountPlace;
  server: Remote;
  inside: string[];
}

const script = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

async function startServer(settings: object): Promise<Parts> {
  const folder = await mkdtemp(join(tmpdir(), "runnel-fuse-"));
  const place = await newMountPlace(folder);
  const serve = [process.execPath, script("drive-server.ts"), place.mountpoint, folder, JSON.stringify(settings)];
  const server = new Remote([...OWN_NAMESPACE, ...serve]);
  await server.ready;
  // unshare executes the server in place, so its id is the server's.
  const inside = isRoot ? ["nsenter", "-t", String(server.child.pid), "-m", "--"] : [];
  return { folder, place, server, inside };
}

/** The mount's connection to the kernel ends: every call on it fails at once. */
function abortConnection({ server, place }: Parts): void {
  try {
    const mounts = readFileSync(`/proc/${server.child.pid}/mountinfo`, "utf8");
    const line = mounts.split("\n").find((each) => each.split(" ")[4] === place.mountpoint);
    const minor = line?.split(" ")[2]?.split(":")[1];
    if (minor !== undefined) writeFileSync(`/sys/fs/fuse/connections/${minor}/abort`, "1");
  } catch {
    // Without fusectl the server's end does the same.
  }
}

async function tearDown(parts: Parts, others: Remote[]): Promise<void> {
  const { server, folder, place, inside } = parts;
  if (server.child.exitCode === null && server.child.signalCode === null) {
    await Promise.race([server.call("close", [true]), server.exited]).catch(() => abortConnection(parts));
    if (isLinux && !isRoot) spawn("fusermount3", ["-u", "-q", "-z", place.mountpoint], { stdio: "ignore" });
  }
  for (const other of others) await other.end("SIGKILL");
  void inside;
  if (!(await server.end("SIGTERM"))) await server.end("SIGKILL");
  // Before anything is removed below it.
  await place.leave();
  await rm(folder, { recursive: true, force: true });
}

export async function fuseRig(changes: Partial<RigSettings> = {}): Promise<FuseRig> {
  const parts = await startServer({ ...RIG_SETTINGS, ...changes });
  const { server, inside, place } = parts;
  const { mountpoint, root } = place;
  const others: Remote[] = [];
  try {
    await server.call("start", []);
    const user = new Remote([...inside, process.execPath, script("drive-program.ts"), root]);
    others.push(user);
    await user.ready;
    const agent = proxy<Agent>(server);
    const shell = (command: string): Promise<number | string> => {
      const child = spawn("timeout", ["-k", "1", "15", ...inside, "sh", "-c", command], { cwd: "/", stdio: "ignore" });
      return new Promise((resolve) => {
        child.once("exit", (code, signal) => resolve(code ?? signal ?? ""));
      });
    };
    return {
      agent,
      program: proxy<TestProgram>(user),
      mountpoint,
      shell,
      until: waitUntil,
      serverExited: server.exited,
      readOften: (path, forMs) => user.call("readOften", [path, forMs]) as Promise<{ count: number; seen: string[] }>,
      openInterrupted: async (path) => {
        const [command = "", ...args] = [...inside, "cat", join(root, path)];
        const child = spawn(command, args, { cwd: "/", stdio: "ignore" });
        const exited = new Promise<NodeJS.Signals | null>((resolve) => {
          child.once("exit", (_code, signal) => resolve(signal));
        });
        await waitUntil(async () => (await agent.heldCount()) > 0);
        child.kill("SIGTERM");
        const signal = await exited;
        if (signal !== "SIGTERM") throw new Error("the program ended by itself");
      },
      close: () => tearDown(parts, others),
    };
  } catch (error) {
    await tearDown(parts, others);
    throw error;
  }
}

/** A program of its own process on what is mounted at a folder already. */
export async function programAt(root: string): Promise<{ program: TestProgram; end(): Promise<unknown> }> {
  const user = new Remote([process.execPath, script("drive-program.ts"), root]);
  await user.ready;
  return { program: proxy<TestProgram>(user), end: () => user.end("SIGKILL") };
}

/** Starts a server only: for what start() refuses. */
export async function refusedStart(settings: object): Promise<{ message: string; kind?: string }> {
  const parts = await startServer({ ...RIG_SETTINGS, ...settings });
  try {
    await parts.server.call("start", []);
    throw new Error("the drive started");
  } catch (error) {
    return error as { message: string; kind?: string };
  } finally {
    await tearDown(parts, []);
  }
}
