// A machine of the simulation: clocks of its own, which a suspend or somebody who sets them moves, and processes that
// can be killed: what belonged to one does nothing any more.
import type { Clock, SimulatedClock, Timer } from "@runnel/shared";

export class Machine {
  private readonly base: SimulatedClock;
  private wallOffsetNs = 0n;
  private resumed: (() => void)[] | undefined;
  private suspendedAtMs = 0;
  /** Time that it has slept, until it last woke up. */
  sleptMs = 0;
  /** Time that a process here works on each thing that it is told; undefined: no time at all. */
  workMs: (() => number) | undefined;

  constructor(base: SimulatedClock) {
    this.base = base;
  }

  get isSuspended(): boolean {
    return this.resumed !== undefined;
  }

  /** Nothing runs here until `resume`; the boot clock goes on, as Linux's does. */
  suspend(): void {
    if (this.resumed !== undefined) return;
    this.resumed = [];
    this.suspendedAtMs = this.base.bootMs();
  }

  resume(): void {
    const due = this.resumed ?? [];
    this.resumed = undefined;
    this.sleptMs += this.base.bootMs() - this.suspendedAtMs;
    for (const run of due) run();
  }

  /** The clock that stands still meanwhile, as Linux's CLOCK_MONOTONIC does. */
  awakeMs(): number {
    return (this.resumed === undefined ? this.base.bootMs() : this.suspendedAtMs) - this.sleptMs;
  }

  jumpWall(ms: number): void {
    this.wallOffsetNs += BigInt(Math.round(ms)) * 1_000_000n;
  }

  process(): Process {
    return new Process(this);
  }

  /** Clock for its processes only. */
  get clock(): SimulatedClock {
    return this.base;
  }

  wallNs(): bigint {
    return this.base.wallNs() + this.wallOffsetNs;
  }

  /** Now, or when the machine has woken up. */
  whenAwake(run: () => void): void {
    if (this.resumed === undefined) run();
    else this.resumed.push(run);
  }
}

/** The process of a program on a machine, from its start to its end, and the clock that it sees. */
export class Process implements Clock {
  readonly machine: Machine;
  private isKilled = false;
  private readonly end = Promise.withResolvers<void>();
  /**
   * Work that its event loop has not come to yet. Like Node's, it looks at all timers that are due before it looks at
   * anything else.
   */
  private readonly due: Record<"timers" | "events", (() => void)[]> = { timers: [], events: [] };
  private isBusy = false;

  constructor(machine: Machine) {
    this.machine = machine;
  }

  get isDead(): boolean {
    return this.isKilled;
  }

  /** Resolves when it is killed. */
  get ended(): Promise<void> {
    return this.end.promise;
  }

  /** SIGKILL: no timer fires and no disk answers from now on. */
  kill(): void {
    this.isKilled = true;
    this.end.resolve();
  }

  bootMs(): number {
    return this.machine.clock.bootMs();
  }

  wallNs(): bigint {
    return this.machine.wallNs();
  }

  after(delayMs: number, fire: () => void): Timer {
    let isCancelled = false;
    const run = (): void => {
      if (!isCancelled && !this.isKilled) fire();
    };
    const timer = this.machine.clock.after(delayMs, () => this.machine.whenAwake(() => this.enter("timers", run)));
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  /** Something from outside reaches its event loop, which works on it when it has done with what came before. */
  event(run: () => void): void {
    this.machine.whenAwake(() => this.enter("events", run));
  }

  private enter(kind: "timers" | "events", run: () => void): void {
    if (this.isBusy) this.due[kind].push(run);
    else this.work(run);
  }

  private work(run: () => void): void {
    const tookMs = this.machine.workMs?.() ?? 0;
    if (tookMs > 0) {
      this.isBusy = true;
      this.machine.clock.after(tookMs, () => this.next());
    }
    if (!this.isKilled) run();
  }

  private next(): void {
    this.isBusy = false;
    for (let run = this.shift(); run !== undefined && !this.isBusy; run = this.isBusy ? undefined : this.shift())
      this.work(run);
  }

  private shift(): (() => void) | undefined {
    return this.due.timers.shift() ?? this.due.events.shift();
  }

  /** Never settles for a process that is dead by then. */
  async turn(delayMs: number): Promise<void> {
    if (delayMs > 0) await new Promise<void>((resolve) => void this.after(delayMs, resolve));
    else if (this.isBusy) await new Promise<void>((resolve) => this.enter("events", resolve));
    if (this.isKilled) await new Promise<never>(() => {});
  }
}
