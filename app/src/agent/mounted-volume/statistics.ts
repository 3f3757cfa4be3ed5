// The figures of a mount: what programs moved and what crossed the wire, hashes, headers and retries included.
import type { Drive } from "@runnel/native/drive";
import { type MountStatistics, type WireBytes, wireTotal } from "../mount-status.ts";
import type { ReuseCounts } from "../transfer/arrivals.ts";
import type { Totals } from "../view/meter.ts";
import type { Session } from "../wire/session.ts";

type Sums = Omit<MountStatistics, "savedPercent">;

export class Statistics {
  readonly reused: ReuseCounts = { base: 0, cache: 0, server: 0, bytes: 0 };
  offlineAnswers = 0;
  /** Bytes that `put`, `get` and `cp` moved for programs, past the kernel. */
  readonly pastKernel = { readBytes: 0, writtenBytes: 0 };
  private readonly drive: Drive;
  private readonly session: Session;
  private from: Sums | undefined;

  constructor(drive: Drive, session: Session) {
    this.drive = drive;
    this.session = session;
  }

  /** Everything is counted from here on. */
  reset(): void {
    this.from = this.sums();
  }

  read(): MountStatistics {
    const sums = this.sums();
    const since = this.from === undefined ? sums : less(sums, this.from);
    const worked = since.applications.readBytes + since.applications.writtenBytes;
    const crossed = wireTotal(since.sent) + wireTotal(since.received);
    return { ...since, savedPercent: worked === 0 ? 0 : 100 * (1 - crossed / worked) };
  }

  /** Totals since the drive was mounted; they stay when it has ended. */
  totals(): Totals {
    const { readBytes, writtenBytes } = this.applications();
    const { sent, received } = this.session.wireBytes();
    return { read: readBytes, written: writtenBytes, sent, received };
  }

  private applications(): Sums["applications"] {
    const { readBytes, writtenBytes } = this.drive.statistics();
    return {
      readBytes: readBytes + this.pastKernel.readBytes,
      writtenBytes: writtenBytes + this.pastKernel.writtenBytes,
    };
  }

  private sums(): Sums {
    const wire = this.session.wireBytes();
    const { recipeBytes, contentBytes, roundTrips } = this.session;
    const { bytes: reusedBytes, ...reusedChunks } = this.reused;
    return {
      applications: this.applications(),
      sent: split(wire.sent, wire.sentBulk, wire.sentControl, recipeBytes.sent, contentBytes.sent),
      received: split(
        wire.received,
        wire.receivedBulk,
        wire.receivedControl,
        recipeBytes.received,
        contentBytes.received,
      ),
      roundTrips,
      reusedChunks,
      reusedBytes,
      offlineAnswers: this.offlineAnswers,
    };
  }
}

/** Contents go as bulk, small ones within control messages. */
function split(all: number, bulk: number, control: number, recipes: number, contents: number): WireBytes {
  return {
    data: bulk + contents,
    recipes,
    metadata: Math.max(0, control - recipes - contents),
    overhead: Math.max(0, all - bulk - control),
  };
}

/** Subtracts figure by figure. */
function less<T extends object>(now: T, from: T): T {
  const was = new Map<string, unknown>(Object.entries(from));
  const left = Object.entries(now).map(([name, figure]: [string, unknown]) => {
    const before = was.get(name);
    return [name, typeof figure === "number" ? figure - Number(before) : less(figure as object, before as object)];
  });
  return Object.fromEntries(left) as T;
}
