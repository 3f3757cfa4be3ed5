// An outbox before a server that answers when a test says so, and executes what comes after another change only when
// that succeeded ([W29]).
import { RunnelError, SimulatedClock } from "@runnel/shared";
import type { Turn } from "../../src/agent/transfer/upload.ts";
import { Outbox } from "../../src/agent/changes/outbox.ts";
import type { Queued, Save, TreeChange } from "../../src/agent/changes/own-change.ts";

interface Asked {
  queued: Queued;
  after: readonly number[];
  answer: PromiseWithResolvers<void>;
}

export class OutboxRig {
  readonly clock = new SimulatedClock();
  isConnected = true;
  isCertain = true;
  /** A program has not removed the files whose contents are sent. */
  isWanted = true;
  lacksRoom = false;
  /** All that the server was asked, in order. */
  asked: Asked[] = [];
  readonly refused: number[] = [];
  /** Numbers of the changes of what is paused. */
  readonly paused = new Set<number>();
  /** Contents that are being read and compressed, by number. */
  readonly prepared = new Map<number, Turn>();
  /** Contents whose preparation takes until a test ends it. */
  readonly unprepared = new Map<number, PromiseWithResolvers<void>>();
  readonly outbox = new Outbox({
    clock: this.clock,
    isConnected: () => this.isConnected,
    isPaused: (queued) => this.paused.has(queued.n),
    lacksRoom: () => this.lacksRoom,
    isCertain: () => this.isCertain,
    sendChange: (queued, after) => this.#ask(queued, after),
    sendSave: async (queued, _making, turn) => {
      this.prepared.set(queued.n, turn);
      queued.state = "sent";
      await turn.comes;
      await this.unprepared.get(queued.n)?.promise;
      const answered = this.#ask(queued, turn.after);
      turn.opened();
      await answered.then(
        () => ([queued.state, queued.version] = ["committed", { node: queued.node, seq: queued.n }]),
        (error: unknown) => ([queued.state, queued.failure] = [this.isWanted ? "unsent" : "settled", error]),
      );
    },
    lessened: () => undefined,
    lacksSpace: () => undefined,
    refused: async ({ n }) => void this.refused.push(n),
  });

  #ask(queued: Queued, after: readonly number[]): Promise<void> {
    const answered = Promise.withResolvers<void>();
    this.asked.push({ queued, after, answer: answered });
    return answered.promise;
  }

  requests(): [number, readonly number[]][] {
    return this.asked.map(({ queued, after }) => [queued.n, after]);
  }

  async answer(n: number, failure?: RunnelError): Promise<void> {
    const last = this.asked.findLast(({ queued }) => queued.n === n);
    if (failure === undefined) last?.answer.resolve();
    else last?.answer.reject(failure);
    await settle();
  }
}

export function change(n: number, nodes: readonly number[] = []): TreeChange {
  const operation = { op: "setAttr", node: nodes[0] ?? 1, change: {} } as const;
  const record = { n, instance: "i", epoch: "e", timeNs: 0n, path: "", operation };
  return { n, state: "recorded", isAwaited: false, names: [], nodes, record, content: undefined };
}

export function save(n: number, node: number, sizeBytes = 10): Save {
  const record = {
    n,
    node,
    sizeBytes,
    layers: [{ extents: [{ offset: 0, length: sizeBytes }] }],
  } as unknown as Save["record"];
  const untried = { failure: undefined, sending: undefined, recording: undefined, version: undefined, shownAs: 0 };
  return {
    n,
    node,
    state: "unsent",
    isAwaited: false,
    names: [],
    record,
    order: n,
    file: 0,
    follows: undefined,
    request: 0,
    isToldFailed: false,
    ...untried,
  };
}

export async function settle(): Promise<void> {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
}
