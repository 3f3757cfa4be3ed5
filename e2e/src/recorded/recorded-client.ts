// A machine of a recorded run: an agent with its mount behind a link of its own, and the process of the programs that
// work there. An agent that was killed is started again; programs wait for that.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { rmSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Call } from "../consistency/check/history.ts";
import { Device, type LinkEmulator, type Sandbox, waitFor } from "../harness/index.ts";
import { monotonicMs } from "./notes.ts";
import type { CallResult, Order } from "./program.ts";
import { type WitnessSettings, witnessed } from "./witness.ts";

const PROGRAM = fileURLToPath(new URL("program.ts", import.meta.url));
const MOUNT_MS = 90_000;
/** No call may take longer, whatever happens. */
const CALL_MS = 40_000;
/** ECONNABORTED, ENOTCONN: the agent has gone; what became of the call nobody knows. */
const CUT_OFF: ReadonlySet<number> = new Set([103, 107]);
/** Count of libuv's threads: more calls than these wait for each other. */
const THREADS = "16";

type Programs = ChildProcessByStdio<Writable, Readable, null>;
/** A call that is to be made. */
export type Asked = Omit<Order, "id" | "kind"> & { kind: Call["kind"] };

export class RecordedClient {
  readonly name: string;
  readonly link: LinkEmulator;
  readonly drive: string;
  /** Path of all that it noted down, a line each. */
  readonly notes: string;
  readonly calls: Call[];
  /** Calls that did not end, in words. */
  readonly overdue: string[] = [];
  device: Device;
  /** The link or the agent is being disturbed. */
  isDisturbed = false;
  private readonly sandbox: Sandbox;
  private readonly witness: WitnessSettings;
  private readonly waiting = new Map<number, (done: CallResult | undefined) => void>();
  private programs: Programs | undefined;
  private orders = 0;
  private homes = 0;
  private restarting: Promise<void> | undefined;
  private readonly url: string;

  constructor(
    sandbox: Sandbox,
    name: string,
    { link, calls, ...witness }: { link: LinkEmulator; calls: Call[] } & Pick<WitnessSettings, "mutant" | "isMute">,
  ) {
    this.sandbox = sandbox;
    this.name = name;
    this.link = link;
    this.calls = calls;
    this.drive = sandbox.makeFolder(`drive-${name}`);
    this.notes = sandbox.path(`notes-${name}`);
    this.witness = { of: "agent", notes: this.notes, ...witness };
    this.url = `ws://127.0.0.1:${link.port}/docs`;
    this.device = this.newDevice();
  }

  private newDevice(): Device {
    const { sandbox, name, witness } = this;
    return new Device(sandbox.makeFolder("home", `${name}${this.homes++}`), { ...sandbox.env, ...witnessed(witness) });
  }

  async start(): Promise<void> {
    await this.mount();
    this.programs = startPrograms(this.sandbox, this.drive, (done) => this.settled(done.id, done));
  }

  /** Again and again while the server is away, which a new device cannot do without. */
  private async mount(): Promise<void> {
    let said = "";
    const isMounted = async (): Promise<boolean> => {
      const { code, stderr } = await this.device.runnel(["mount", this.url, this.drive], { deadlineMs: MOUNT_MS });
      said = stderr;
      return code === 0;
    };
    await waitFor(isMounted, MOUNT_MS, `${this.name} to be mounted`).catch((error: unknown) => {
      throw new Error(`${String(error)} ${said}`, { cause: error });
    });
  }

  /** Puts the call down as it begins, and then what came of it. */
  async call(asked: Asked): Promise<Call> {
    while (this.restarting !== undefined) await this.restarting;
    const { kind, path, toPath } = asked;
    const nowMs = monotonicMs();
    const call: Call = {
      client: this.name,
      kind,
      path,
      ...(toPath === undefined ? {} : { toPath }),
      began: nowMs,
      ended: Infinity,
      beganMs: nowMs,
      endedMs: Infinity,
      outcome: undefined,
      firstSeq: 0,
      lastSeq: Infinity,
      wasOffline: false,
    };
    this.calls.push(call);
    const done = await this.order(asked);
    if (done === undefined) this.overdue.push(`${this.name} ${kind} ${path} does not end`);
    else noteEnd(call, done);
    return call;
  }

  /** All that the drive shows. */
  async tree(): Promise<string[]> {
    return (await this.order({ kind: "tree", path: "" }))?.names ?? [];
  }

  /** Resolves to undefined when the call does not end. */
  private async order(order: Omit<Order, "id">): Promise<CallResult | undefined> {
    const id = ++this.orders;
    const { promise, resolve } = Promise.withResolvers<CallResult | undefined>();
    const late = setTimeout(() => this.settled(id), CALL_MS);
    this.waiting.set(id, resolve);
    this.programs?.stdin.write(`${JSON.stringify({ ...order, id })}\n`);
    const done = await promise;
    clearTimeout(late);
    return done;
  }

  private settled(id: number, done?: CallResult): void {
    this.waiting.get(id)?.(done);
    this.waiting.delete(id);
  }

  /** SIGKILL, and started again once its programs have been cut off. With `isNew` it then has forgotten everything. */
  async kill(isNew: boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.restarting = promise;
    try {
      await this.device.killAgent();
      // Programs that still work there would work in the bare folder while nothing is mounted.
      await waitFor(() => this.waiting.size === 0, CALL_MS, "programs to be cut off");
      if (isNew) {
        rmSync(this.device.home, { recursive: true, force: true });
        this.device = this.newDevice();
      }
      await this.mount();
    } finally {
      this.restarting = undefined;
      resolve();
    }
  }

  /** Until all that was written is at the server and in the plain files. */
  async settle(deadlineMs: number): Promise<void> {
    await waitFor(
      async () => (await this.device.runnel(["flush", this.drive, "--applied"], { deadlineMs })).code === 0,
      deadlineMs,
      `${this.name} to have sent all`,
    );
  }
}

/** The programs that work in a folder. */
export function startPrograms(sandbox: Sandbox, folder: string, done: (done: CallResult) => void): Programs {
  const programs = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", PROGRAM, folder], {
    cwd: "/",
    env: { ...sandbox.env, UV_THREADPOOL_SIZE: THREADS },
    stdio: ["pipe", "pipe", "inherit"],
  });
  programs.stdin.on("error", () => undefined);
  createInterface({ input: programs.stdout }).on("line", (line) => done(JSON.parse(line) as CallResult));
  return programs;
}

/** Notes the end of a call; what became of one that was cut off nobody knows. */
function noteEnd(call: Call, { beganMs, endedMs, errno, content, names }: CallResult): void {
  Object.assign(call, { began: beganMs, beganMs });
  if (content !== undefined) call.content = content;
  if (names !== undefined) call.names = names;
  if (errno !== undefined) call.errno = errno;
  if (errno !== undefined && CUT_OFF.has(errno)) return;
  Object.assign(call, { ended: endedMs, endedMs, outcome: errno === undefined ? "ok" : "failed" });
}
