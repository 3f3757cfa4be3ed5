// Carries contents out to a stick and in from one, for the drives of an agent: one stick at a time.
import { RunnelError, isRunnelError, nextTurn } from "@runnel/shared";
import type { ChunkRun, ChunkSource, ChunkSpan, WantedContent } from "../transfer/sources/chunk-source.ts";
import type {
  CarriedIn,
  CarriedOut,
  CarrierOfAgent,
  CarryingMount,
  CarryInRequest,
  CarryOutRequest,
} from "./carried.ts";
import type { CarriedVersion, Manifest } from "./manifest.ts";
import { STICK_LIMITS } from "@runnel/shared/supply";
import { stickFailure } from "./on-stick.ts";
import { Stick, type StickDeps } from "./stick.ts";

/** Failures that are named. */
const NAMED_MAX = 20;

interface Failures {
  failed: number;
  failures: { path: string; reason: string }[];
}

export class Carrier implements CarrierOfAgent {
  readonly #deps: StickDeps;
  #isBusy = false;

  constructor(deps: StickDeps) {
    this.#deps = deps;
  }

  carryOut(request: CarryOutRequest): Promise<CarriedOut> {
    return this.#alone(() => this.#carryOut(request));
  }

  carryIn(request: CarryInRequest): Promise<CarriedIn> {
    return this.#alone(() => this.#carryIn(request));
  }

  async #carryOut({ dir, drives, devices, device, signal, progress }: CarryOutRequest): Promise<CarriedOut> {
    await using stick = await Stick.open(dir, this.#deps, signal, true);
    const sink = stick.sink(await stick.inventories(devices));
    const counts = { files: 0, unsentFiles: 0, bytes: 0, ...noFailures() };
    const tell = (sizeBytes: number): void => {
      counts.bytes += sizeBytes;
      progress({ files: counts.files + counts.unsentFiles, bytes: counts.bytes });
    };
    try {
      for (const { carrying, paths } of drives) {
        let versions: CarriedVersion[] = [];
        const note = async (): Promise<void> => {
          await sink.flush();
          if (versions.length > 0) await stick.putManifest({ epoch: carrying.epoch, device, versions });
          versions = [];
        };
        const carried = async (version: CarriedVersion): Promise<void> => {
          versions.push(version);
          counts.files++;
          tell(version[2]);
          if (versions.length === STICK_LIMITS.manifestContents) await note();
        };
        const carriedUnsent = (sizeBytes: number): void => {
          counts.unsentFiles++;
          tell(sizeBytes);
        };
        const failed = (path: string, error: unknown): void => addFailure(counts, path, error);
        try {
          await carrying.carryOut({ sink, signal, carried, carriedUnsent, failed }, paths);
        } catch (error) {
          // Whatever ended it, what is written counts: a stick that was pulled out says the first failure.
          await note().catch((later: unknown) => {
            if (!isRunnelError(later)) throw later;
          });
          throw error;
        }
        await note();
      }
      return { ...counts, writtenBytes: sink.writtenBytes };
    } finally {
      await sink.close();
    }
  }

  async #carryIn({ dir, drives, device, signal, progress }: CarryInRequest): Promise<CarriedIn> {
    await using stick = await Stick.open(dir, this.#deps, signal, false);
    const counts = { files: 0, bytes: 0, alreadyHere: 0, superseded: 0, ...noFailures() };
    // Aborted when the stick is gone: its rest does not come over the line instead, which may take for ever.
    const gone = new AbortController();
    const source = new CountedSource(stick.source, (error) => gone.abort(stickFailure(dir, error)));
    const either = AbortSignal.any([signal, gone.signal]);
    const took = (what: "here" | "already" | "superseded", sizeBytes: number): void => {
      if (what === "already") counts.alreadyHere++;
      else if (what === "superseded") counts.superseded++;
      else {
        counts.files++;
        counts.bytes += sizeBytes;
      }
      progress({ files: counts.files, bytes: counts.bytes });
    };
    const failed = (path: string, error: unknown): void => addFailure(counts, path, error);
    for (const drive of drives) {
      const versions = (epoch: string): AsyncIterable<CarriedVersion> => versionsOf(stick.manifests(failed), epoch);
      try {
        await drive.takeIn({ source, signal: either, versions, took, failed });
      } catch (error) {
        gone.signal.throwIfAborted();
        throw error;
      }
      gone.signal.throwIfAborted();
    }
    await leaveInventory(stick, drives, device);
    return { ...counts, sparedBytes: source.takenBytes, device };
  }

  async #alone<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isBusy)
      throw new RunnelError("Busy", "carry", "Something else is being carried just now. Try again when that is done.");
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }
}

/** The newest carried version of a file is asked about, and each once. */
async function* versionsOf(manifests: AsyncIterable<Manifest>, epoch: string): AsyncGenerator<CarriedVersion> {
  const newest = new Map<number, CarriedVersion>();
  for await (const manifest of manifests) {
    if (manifest.epoch !== epoch) continue;
    for (const version of manifest.versions) {
      const known = newest.get(version[0]);
      if (known === undefined || known[1] < version[1]) newest.set(version[0], version);
    }
    await new Promise<void>(nextTurn);
  }
  yield* newest.values();
}

/** A stick that cannot be written to is one all the same. */
async function leaveInventory(stick: Stick, drives: readonly CarryingMount[], device: string): Promise<void> {
  const keys: bigint[] = [];
  for (const drive of drives) {
    for await (const some of drive.chunkKeys()) {
      for (const key of some) if (keys.length < STICK_LIMITS.inventoryKeys) keys.push(BigInt.asUintN(64, key));
    }
  }
  try {
    await stick.putInventory({ device, keys: BigUint64Array.from(keys) });
  } catch (error) {
    if (!isRunnelError(error)) throw error;
  }
}

/** Counts what is taken of a source, less what was wrong, and tells when it fails. */
class CountedSource implements ChunkSource {
  readonly kind;
  readonly name: string;
  readonly mayRot = true;
  takenBytes = 0;
  readonly #source: ChunkSource;
  readonly #failed: (error: unknown) => void;

  constructor(source: ChunkSource, failed: (error: unknown) => void) {
    this.#source = source;
    this.#failed = failed;
    this.kind = source.kind;
    this.name = source.name;
  }

  locate(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): Promise<ChunkSpan[]> {
    return this.#source.locate(content, spans, signal);
  }

  async *get(content: WantedContent, spans: readonly ChunkSpan[], signal: AbortSignal): AsyncGenerator<ChunkRun> {
    try {
      for await (const run of this.#source.get(content, spans, signal)) {
        this.takenBytes += run.bytes.length;
        yield run;
      }
    } catch (error) {
      this.#failed(error);
      throw error;
    }
  }

  wrong(content: WantedContent, index: number): void {
    this.takenBytes -= content.recipe.lengths[index] ?? 0;
    this.#source.wrong(content, index);
  }
}

function noFailures(): Failures {
  return { failed: 0, failures: [] };
}

function addFailure(counts: Failures, path: string, error: unknown): void {
  counts.failed++;
  const reason = error instanceof Error ? error.message : String(error);
  if (counts.failures.length < NAMED_MAX) counts.failures.push({ path, reason });
}
