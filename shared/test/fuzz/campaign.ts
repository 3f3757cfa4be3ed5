// A target under fuzzed inputs: those that run something new are kept, and the next are made of them. Runs in a process
// of its own (child.ts), since what it finds may be a crash or a loop without end.
import { getHeapStatistics } from "node:v8";
import { isRunnelError } from "../../src/errors.ts";
import { SeededRandom } from "../../src/host/simulated/seeded-random.ts";
import { Coverage } from "./coverage.ts";
import { Mutator } from "./mutate.ts";
import type { FuzzTarget } from "./target.ts";

const BATCH_MAX = 512;
/** An input of 64 KiB has no reason to make this much of it. */
const ALLOCATION_BYTES_MAX = 64 * 2 ** 20;
/** Processor time for one input. */
const CPU_MS_MAX = 2_000;
const RECENT = 8;

export interface Finding {
  what: "thrown" | "allocated" | "slow" | "hung" | "crashed";
  says: string;
  /** The input, in hex. */
  input: string;
}

export interface CampaignReport {
  inputs: number;
  /** Inputs that ran something new. */
  kept: number;
  /** Source positions that ran. */
  covered: number;
  /** Growth of the process, after the first fifth of the inputs. */
  grewBytes: number;
  finding: Finding | undefined;
}

export interface CampaignChoice {
  seed: number;
  inputs: number;
  /** false: as many inputs made of the seeds alone, to compare with. */
  isGuided: boolean;
  /** Called before each input. */
  begins(input: Uint8Array): void;
  /** Called after each batch. */
  goesOn(inputs: number): Promise<void>;
}

export class Campaign {
  readonly #target: FuzzTarget;
  readonly #choice: CampaignChoice;
  readonly #random: SeededRandom;
  readonly #mutator: Mutator;
  readonly #corpus: Uint8Array[];
  readonly #coverage: Coverage | undefined;
  #inputs = 0;
  #finding: Finding | undefined;

  constructor(target: FuzzTarget, choice: CampaignChoice) {
    this.#target = target;
    this.#choice = choice;
    this.#random = new SeededRandom(choice.seed);
    this.#mutator = new Mutator(this.#random, target);
    this.#corpus = [...target.seeds];
    this.#coverage = choice.isGuided ? new Coverage() : undefined;
  }

  async run(): Promise<Omit<CampaignReport, "grewBytes">> {
    const seeds = this.#corpus.length;
    await this.#all(this.#corpus);
    this.#coverage?.take(true);
    let batch = 8;
    while (this.#inputs < this.#choice.inputs && this.#finding === undefined) {
      const inputs = Array.from({ length: batch }, () => this.#mutator.mutate(this.#parent(), this.#parent()));
      await this.#all(inputs);
      // Promises that were left rejected are reported between turns of the loop.
      await new Promise(setImmediate);
      const hasNew = this.#coverage?.take(false) === true;
      if (hasNew) await this.#keep(inputs);
      batch = hasNew ? Math.max(8, batch >> 1) : Math.min(BATCH_MAX, batch << 1);
      await this.#choice.goesOn(this.#inputs);
    }
    this.#coverage?.close();
    return {
      inputs: this.#inputs,
      kept: this.#corpus.length - seeds,
      covered: this.#coverage?.covered ?? 0,
      finding: this.#finding,
    };
  }

  /** Half of the time one of the last few: what they ran is where something new is near. */
  #parent(): Uint8Array {
    const { length } = this.#corpus;
    const isRecent = this.#random.coin();
    const back = this.#random.below(Math.min(length, this.#random.coin() ? 2 : RECENT));
    return this.#corpus[isRecent ? length - 1 - back : this.#random.below(length)] ?? new Uint8Array(0);
  }

  /** Finds those that ran something new, by halves. */
  async #keep(inputs: readonly Uint8Array[]): Promise<void> {
    if (this.#finding !== undefined) return;
    await this.#all(inputs);
    const [only, another] = inputs;
    if (only === undefined || this.#coverage?.take(another === undefined) !== true) return;
    if (another === undefined) {
      this.#corpus.push(only);
      return;
    }
    await this.#keep(inputs.slice(0, inputs.length >> 1));
    await this.#keep(inputs.slice(inputs.length >> 1));
  }

  async #all(inputs: readonly Uint8Array[]): Promise<void> {
    for (const input of inputs) {
      if (this.#finding !== undefined) return;
      await this.#one(input);
    }
  }

  async #one(input: Uint8Array): Promise<void> {
    this.#inputs++;
    this.#choice.begins(input);
    const bytes = allocatedBytes();
    const begun = performance.now();
    const cpu = process.cpuUsage();
    try {
      await this.#target.run(input);
    } catch (error) {
      if (!isRunnelError(error))
        this.found("thrown", error instanceof Error ? (error.stack ?? error.message) : String(error), input);
    }
    const more = allocatedBytes() - bytes;
    if (more > ALLOCATION_BYTES_MAX) this.found("allocated", `${Math.round(more / 2 ** 20)} MiB`, input);
    if (performance.now() - begun < CPU_MS_MAX) return;
    const cpuMs = process.cpuUsage(cpu).user / 1000;
    if (cpuMs > CPU_MS_MAX) this.found("slow", `${Math.round(cpuMs)} ms of the processor`, input);
  }

  found(what: Finding["what"], says: string, input: Uint8Array): void {
    this.#finding ??= { what, says, input: Buffer.from(input).toString("hex") };
  }
}

function allocatedBytes(): number {
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  return heap + external;
}
