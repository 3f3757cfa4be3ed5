// Tells faces what was carried on a stick, and says what a drive is asked for then. Free of engines.
import { z } from "zod";
import type { ChunkSink, ChunkSource } from "../transfer/sources/chunk-source.ts";
import type { CarriedVersion } from "./manifest.ts";

export const CarryProgress = z.object({ files: z.number(), bytes: z.number() });
export type CarryProgress = z.infer<typeof CarryProgress>;

export const CarriedOut = z.object({
  /** Files whose chunks the stick has now, those of them that wait unsent, and their bytes. */
  files: z.number(),
  unsentFiles: z.number(),
  bytes: z.number(),
  /** Bytes that were written: others were there, or are held by whom it is for. */
  writtenBytes: z.number(),
  /** Files that could not be carried, the first of them with why. */
  failed: z.number(),
  failures: z.array(z.object({ path: z.string(), reason: z.string() })),
});
export type CarriedOut = z.infer<typeof CarriedOut>;

export const CarriedIn = z.object({
  /** Files that came here, and their bytes; files that were here already. */
  files: z.number(),
  bytes: z.number(),
  alreadyHere: z.number(),
  /** Files that have changed on the server since, or are gone. */
  superseded: z.number(),
  /** Bytes that came of the stick. */
  sparedBytes: z.number(),
  /** Name under which this device left a list of what it holds. */
  device: z.string(),
  failed: z.number(),
  failures: z.array(z.object({ path: z.string(), reason: z.string() })),
});
export type CarriedIn = z.infer<typeof CarriedIn>;

/** A stick that a drive writes to. */
export interface DriveCarriesOut {
  sink: ChunkSink;
  signal: AbortSignal;
  /** Called once all chunks of a version are given to the sink. */
  carried(version: CarriedVersion): Promise<void>;
  /** Called for an unsent content, which is no version yet. */
  carriedUnsent(sizeBytes: number): void;
  failed(path: string, error: unknown): void;
}

/** A stick that a drive takes in. */
export interface DriveTakesIn {
  source: ChunkSource;
  signal: AbortSignal;
  versions(epoch: string): AsyncIterable<CarriedVersion>;
  took(what: "here" | "already" | "superseded", sizeBytes: number): void;
  failed(path: string, error: unknown): void;
}

/** A mount's part in what is carried. */
export interface CarryingMount {
  /** Epoch of its volume. */
  readonly epoch: string;
  /**
   * Gives the sink the contents below paths in the drive, and what waits unsent in it; what is not here is brought.
   * @throws NotFound; NoSpace and others of the sink; Unreachable.
   */
  carryOut(out: DriveCarriesOut, paths: readonly string[]): Promise<void>;
  /** Takes in what of the versions is still current, from the source and else from the server. @throws Unreachable. */
  takeIn(taking: DriveTakesIn): Promise<void>;
  /** Digest keys of chunks that are cached, some thousand at a time. */
  chunkKeys(): AsyncIterable<readonly bigint[]>;
}

export interface CarryOutRequest {
  dir: string;
  drives: readonly { carrying: CarryingMount; paths: readonly string[] }[];
  /** Devices that it is for; undefined: all that left a list on the stick. */
  devices: readonly string[] | undefined;
  /** Name of this device. */
  device: string;
  signal: AbortSignal;
  progress(progress: CarryProgress): void;
}

export interface CarryInRequest extends Pick<CarryOutRequest, "dir" | "device" | "signal" | "progress"> {
  drives: readonly CarryingMount[];
}

export interface CarrierOfAgent {
  /**
   * Whatever ends it, what the stick has by then is whole. @throws NoSpace when the stick is full, Unavailable when it
   * was pulled out, Unreachable, NotFound; Busy while something else is carried.
   */
  carryOut(request: CarryOutRequest): Promise<CarriedOut>;
  /**
   * Brings over the line what the stick lacks of a file. @throws Unavailable when the stick was pulled out,
   * Unreachable, NoSpace, NotFound; Busy.
   */
  carryIn(request: CarryInRequest): Promise<CarriedIn>;
}
