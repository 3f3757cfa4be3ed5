// The figures of a mount: what programs moved and what crossed the wire, hashes, headers and retries included.
import type { Drive } from "@runnel/native/drive";
import type { MountStatistics, WireBytes } from "../mount.ts";
import type { ReuseCounts } from "../transfer/arrivals.ts";
import type { Session } from "../wire/session.ts";

interface Sums {
  readBytes: number;
  writtenBytes: number;
  sent: WireBytes;
  received: WireBytes;
  roundTrips: number;
  reused: ReuseCounts;
  offlineAnswers: number;
}

export class Statistics {
  readonly reused: ReuseCounts = { base: 0, cache: 0, server: 0, bytes: 0 };
  offlineAnswers = 0;
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
    const now = this.sums();
    const { from } = this;
    const applications = {
      readBytes: now.readBytes - (from?.readBytes ?? 0),
      writtenBytes: now.writtenBytes - (from?.writtenBytes ?? 0),
    };
    const sent = less(now.sent, from?.sent);
    const received = less(now.received, from?.received);
    const worked = applications.readBytes + applications.writtenBytes;
    const crossed = total(sent) + total(received);
    return {
      applications,
      sent,
      received,
      roundTrips: now.roundTrips - (from?.roundTrips ?? 0),
      reusedChunks: {
        base: now.reused.base - (from?.reused.base ?? 0),
        cache: now.reused.cache - (from?.reused.cache ?? 0),
        server: now.reused.server - (from?.reused.server ?? 0),
      },
      reusedBytes: now.reused.bytes - (from?.reused.bytes ?? 0),
      offlineAnswers: now.offlineAnswers - (from?.offlineAnswers ?? 0),
      savedPercent: worked === 0 ? 0 : 100 * (1 - crossed / worked),
    };
  }

  private sums(): Sums {
    const { readBytes, writtenBytes } = this.drive.statistics();
    const wire = this.session.wireBytes();
    const { recipeBytes, contentBytes, roundTrips } = this.session;
    return {
      readBytes,
      writtenBytes,
      sent: split(wire.sent, wire.sentBulk, wire.sentControl, recipeBytes.sent, contentBytes.sent),
      received: split(
        wire.received,
        wire.receivedBulk,
        wire.receivedControl,
        recipeBytes.received,
        contentBytes.received,
      ),
      roundTrips,
      reused: { ...this.reused },
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

function less(now: WireBytes, from: WireBytes | undefined): WireBytes {
  if (from === undefined) return now;
  return {
    data: now.data - from.data,
    recipes: now.recipes - from.recipes,
    metadata: now.metadata - from.metadata,
    overhead: now.overhead - from.overhead,
  };
}

function total(bytes: WireBytes): number {
  return bytes.data + bytes.recipes + bytes.metadata + bytes.overhead;
}
