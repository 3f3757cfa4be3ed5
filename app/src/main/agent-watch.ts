// Follows the agent, and sees to it that there is one: starts it, finds it again when it was killed, after a delay that
// grows while it does not stay, and maps the drives again that it left, or that are kept. An agent that was ended on
// purpose is left alone until a person asks for it.
import { applied, type CallClient, type Clock, isRunnelError, RunnelError } from "@runnel/shared";
import type { ViewState } from "../agent/view/view-state.ts";
import type { AGENT_TABLE } from "./agent-table.ts";
import type { AgentState } from "./agent-state.ts";
import { say } from "./say.ts";

/** Delay before an agent that was killed, or did not start, is started again; doubled each time. */
export const RETRY_MS = 500;
export const RETRY_MS_MAX = 60_000;
/** An agent that lived so long did not end because of how it was started. */
export const STEADY_MS = 60_000;

const ENDED = { kind: "failed", why: "ended", sentence: say("agentEnded") } satisfies AgentState;

export type AgentClient = Pick<CallClient<typeof AGENT_TABLE>, "ask" | "close">;

export interface AgentWatchDeps {
  clock: Clock;
  /** @returns undefined when no agent answers. @throws RunnelError when one does that is not understood. */
  connect(): Promise<AgentClient | undefined>;
  /** Starts the agent of the `runnel` program, unless one runs. @throws RunnelError with a sentence. */
  start(): Promise<void>;
  /** Resolves once no agent runs: true when the last one left its record behind, as it does not when it ends itself. */
  hasCrashed(): Promise<boolean>;
  changed(state: AgentState): void;
  /** The agent was killed and another one answers, with so many of its drives mapped again, and so many not. */
  restarted(mapped: number, missing: number): void;
  /** Tells that so many drives which are kept are not mapped. */
  missing(count: number): void;
}

export class AgentWatch {
  readonly #deps: AgentWatchDeps;
  #state: AgentState = { kind: "starting" };
  #client: AgentClient | undefined;
  #isClosed = false;
  #wake = Promise.withResolvers<void>();
  #attempts = 0;

  constructor(deps: AgentWatchDeps) {
    this.#deps = deps;
  }

  get state(): AgentState {
    return this.#state;
  }

  /** The line to the agent; undefined while there is none. */
  get client(): AgentClient | undefined {
    return this.#client;
  }

  /** Tries now what would be tried later, and starts an agent that was ended on purpose. */
  wake(): void {
    this.#wake.resolve();
  }

  close(): void {
    this.#isClosed = true;
    this.#client?.close();
    this.wake();
  }

  /** Follows until it is closed. */
  async run(): Promise<void> {
    let hasDied = false;
    while (!this.#isClosed) {
      let state: AgentState;
      try {
        await this.#live(hasDied);
        hasDied = await this.#deps.hasCrashed();
        state = hasDied ? ENDED : { kind: "stopped" };
      } catch (error) {
        if (!isRunnelError(error)) throw error;
        hasDied ||= await this.#deps.hasCrashed();
        state = { kind: "failed", why: "unreachable", sentence: error.message };
      }
      await this.#rest(state);
    }
  }

  /** Connects, and follows until the agent is gone. @throws RunnelError when there is no reaching it. */
  async #live(hasDied: boolean): Promise<void> {
    const { clock, connect, start, hasCrashed, restarted, missing } = this.#deps;
    let client = await connect();
    let isAfterCrash = hasDied;
    if (client === undefined) {
      isAfterCrash ||= await hasCrashed();
      await start();
      client = await connect();
    }
    if (client === undefined) throw new RunnelError("Unavailable", "reach the agent", say("agentSilent"));
    if (this.#isClosed) {
      client.close();
      return;
    }
    const beganMs = clock.bootMs();
    this.#client = client;
    try {
      const { mapped, failed } = await client.ask("reconnect", {});
      if (isAfterCrash) restarted(mapped.length, failed.length);
      else if (failed.length > 0) missing(failed.length);
      await this.#follow(client);
    } finally {
      this.#client = undefined;
      client.close();
      if (clock.bootMs() - beganMs >= STEADY_MS) this.#attempts = 0;
    }
  }

  /** Resolves when the agent has ended. */
  async #follow(client: AgentClient): Promise<void> {
    let view: ViewState | undefined;
    let shown = "";
    let isAsking = false;
    const show = async (): Promise<void> => {
      // Asks one question at a time: what changes meanwhile is asked for after it.
      if (isAsking) return;
      isAsking = true;
      try {
        for (;;) {
          const now = view === undefined ? shown : notable(view);
          if (now === shown) return;
          shown = now;
          const { head, mounts: drives, lost, resting } = await client.ask("status", {});
          this.#set({ kind: "live", head, drives, lost: [...lost, ...resting] });
        }
      } catch {
        // The agent is gone; the view says so too.
      } finally {
        isAsking = false;
      }
    };
    try {
      await client.ask("view", { wants: ["drives"] }, (part) => {
        if ("snapshot" in part) view = part.snapshot;
        else if (view !== undefined) view = applied(view, part.changes);
        if (view !== undefined && this.#state.kind === "live") this.#set({ ...this.#state, head: view.head });
        void show();
      });
    } catch (error) {
      if (!isRunnelError(error, "Unavailable")) throw error;
    }
  }

  /** Shows why there is no agent, and waits: for the next attempt, or for a person. */
  async #rest(state: AgentState): Promise<void> {
    this.#set(state);
    this.#wake = Promise.withResolvers();
    if (this.#isClosed) return;
    const delayMs = Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** this.#attempts);
    const timer = state.kind === "stopped" ? undefined : this.#deps.clock.after(delayMs, () => this.wake(), true);
    this.#attempts++;
    await this.#wake.promise;
    timer?.cancel();
    if (state.kind === "stopped") {
      this.#attempts = 0;
      this.#set({ kind: "starting" });
    }
  }

  #set(state: AgentState): void {
    if (this.#isClosed) return;
    this.#state = state;
    this.#deps.changed(state);
  }
}

/** Text that differs when the facts of a drive may: bytes that move are not among them. */
function notable({ head, lists }: ViewState): string {
  const drives = (lists.drives ?? []).map((drive) => ({
    ...drive,
    unsentBytes: 0,
    cacheBytes: 0,
    unsentFiles: 0,
    unsentNames: 0,
  }));
  // Drives that were lost are in no list.
  return JSON.stringify([head.state === "attention" ? head : head.state, drives]);
}
