// The Drive without a kernel: drive.node's core, called by programs in this process. The reference for other engines
// and the drive of the simulation: no threads, time from a Clock. Requests are delivered in a later turn of the event
// loop, as a kernel's are.
import { RunnelError, type Clock, type Timer, nextTurn } from "@runnel/shared/model";
import type { Drive, DriveNotice, DriveRequest, DriveSettings } from "./drive.ts";
import { ERRNO_OF_KIND, type NativeKind } from "./errno-of-kind.ts";
import { AgentSide, dispatch, type Invalidation, newNativeDrive, type NativeDrive } from "./native-drive.ts";
import { Program, type RequestResult } from "./program.ts";

export interface MemoryDrive extends Drive {
  /** A program that uses the drive; its own open files. */
  program(caller?: { uid: number; gid: number; pid?: number }): Program;
  /**
   * Makes one low-level request, as a kernel makes it. Resolves with its errno in `error`. Aborting the signal
   * interrupts it.
   */
  request(op: string, args: object, signal?: AbortSignal): Promise<RequestResult>;
  /**
   * `forget` is told what a kernel is to forget, in order, within whatever call led to it; `forgotten` is for when it
   * has. Without it, everything is forgotten at once, as by a kernel that keeps nothing.
   */
  onInvalidation(forget: (what: Invalidation, forgotten: () => void) => void): void;
}

/** Runs around every call into the native side: tells it the time, then does what the call has led to. */
class Pump {
  readonly #clock: Clock;
  readonly #kernelMs: () => number;
  readonly #drain: () => void;
  native: NativeDrive | undefined;
  forget = (_what: Invalidation, forgotten: () => void): void => forgotten();
  #timer: Timer | undefined;
  #timerAtMs = 0;
  #isDraining = false;

  constructor(clock: Clock, kernelMs: () => number, drain: () => void) {
    this.#clock = clock;
    this.#kernelMs = kernelMs;
    this.#drain = drain;
  }

  before(): void {
    this.native?.setTime(Math.floor(this.#clock.bootMs()), this.#clock.wallNs(), Math.floor(this.#kernelMs()));
  }

  after(): void {
    const native = this.native;
    if (native === undefined) return;
    native.runTasks();
    for (const what of native.takeInvalidations() ?? []) {
      this.forget(what, () => {
        if (what.mark !== 0) native.invalidated(what.id, what.mark);
      });
    }
    this.#arm(native.wakeTime());
    if (!native.takeWake() || this.#isDraining) return;
    this.#isDraining = true;
    nextTurn(() => {
      this.#isDraining = false;
      this.#drain();
    });
  }

  #arm(atMs: number): void {
    if (atMs === this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    if (atMs === 0) return;
    this.#timer = this.#clock.after(Math.max(0, atMs - this.#clock.bootMs()), () => {
      this.#timerAtMs = 0;
      this.before();
      this.native?.expire();
      this.after();
    });
  }

  stop(): void {
    this.#timer?.cancel();
  }
}

/** Result of a request as the native side gives it: a kind in place of the errno. */
type NativeResult = Omit<RequestResult, "error" | "kind"> & { error: NativeKind };

const ENOTCONN = 107;

/** The native side holds on to it for good, so that it knows nothing of the drive: that could never go. */
function completionOf(waiting: Map<number, (result: RequestResult) => void>) {
  return (ticket: number, result: NativeResult): void => {
    const resolve = waiting.get(ticket);
    waiting.delete(ticket);
    resolve?.({ ...result, error: ERRNO_OF_KIND[result.error], kind: result.error });
  };
}

/** The core without a kernel; nfs-drive.ts puts clients before it. */
export class KernelFreeDrive extends AgentSide implements MemoryDrive {
  readonly #pump: Pump;
  readonly #waiting: Map<number, (result: RequestResult) => void>;
  #on: { requests(batch: DriveRequest[]): void; notice(notice: DriveNotice): void } | undefined;
  #nextTicket = 1;
  #isClosed = false;

  constructor(settings: DriveSettings, clock: Clock, kernelMs: () => number) {
    const waiting = new Map<number, (result: RequestResult) => void>();
    const pump = new Pump(clock, kernelMs, () => this.#deliver());
    const native = newNativeDrive("memory", settings, { complete: completionOf(waiting) });
    super(
      native,
      () => pump.before(),
      () => pump.after(),
    );
    pump.native = native;
    this.#pump = pump;
    this.#waiting = waiting;
  }

  start(on: { requests(batch: DriveRequest[]): void; notice(notice: DriveNotice): void }): Promise<void> {
    if (this.#on !== undefined) throw new RunnelError("Busy", "mount", "This drive has been started before.");
    this.#on = on;
    return Promise.resolve();
  }

  #deliver(): void {
    const on = this.#on;
    if (on === undefined) return;
    dispatch(this.native.drain(), {
      requests: (batch) => on.requests(batch),
      notice: (notice) => on.notice(notice),
      internal: (item) => {
        if (item.op === "committed") this.committedAll(item.ticket, item.kind);
      },
    });
    this.#pump.after();
  }

  request(op: string, args: object, signal?: AbortSignal): Promise<RequestResult> {
    // Handles of before are gone, as after an unmount by force.
    if (this.#isClosed) return Promise.resolve({ error: ENOTCONN, kind: "Io", written: 0, keepsCache: false });
    const ticket = this.#nextTicket++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(ticket, resolve);
      this.#pump.before();
      try {
        this.native.call(ticket, op, args);
      } catch (error) {
        this.#waiting.delete(ticket);
        reject(error as Error);
      }
      this.#pump.after();
      signal?.addEventListener("abort", () => {
        this.native.interrupt(ticket);
        this.#pump.after();
      });
    });
  }

  program(caller: { uid: number; gid: number; pid?: number } = { uid: 0, gid: 0 }): Program {
    return new Program((op, args, signal) => this.request(op, args, signal), caller);
  }

  onInvalidation(forget: (what: Invalidation, forgotten: () => void) => void): void {
    this.#pump.forget = forget;
  }

  async close(force: boolean, reason = "The drive was closed."): Promise<void> {
    if (this.#isClosed) return;
    if (!force && this.statistics().openFiles > 0) {
      throw new RunnelError(
        "Busy",
        "unmount",
        "Programs use the drive: close their files and windows, then try again.",
      );
    }
    this.#isClosed = true;
    this.#pump.before();
    this.native.end();
    this.#pump.after();
    await Promise.resolve();
    this.#deliver();
    this.endCommits();
    this.#pump.stop();
    this.#on?.notice({ op: "unmounted", reason });
  }
}

/**
 * A drive in this process. `kernelMs`: the clock of what stands for a kernel, which does not go on while the machine
 * sleeps; `clock`'s unless said.
 * @throws RunnelError Unsupported when drive.node is missing or does not load.
 */
export function memoryDrive(
  settings: DriveSettings,
  clock: Clock,
  kernelMs = (): number => clock.bootMs(),
): MemoryDrive {
  return new KernelFreeDrive(settings, clock, kernelMs);
}
