// Counts runs of data that have come whole over one link, of writes or of fetches: each is announced by an item, its
// bytes are in it or follow as bulk.
import { FRAME, decodeFrame, decodeMessage } from "@runnel/shared";

const DATA_ITEMS = ["d", "s", "r", "raw"];

export class RunCounter {
  /** Announced of versions that have no recipe yet, before compression. */
  rawBytes = 0;
  private readonly coming = new Map<number, { lengths: number[]; bytes: number }>();

  /** Bytes of the runs that this frame ends. */
  take(bytes: Uint8Array): number {
    const { kind, channel, payload, isCompressed } = decodeFrame(bytes);
    if (kind === FRAME.bulk) return this.bulk(channel, payload.length);
    if (isCompressed) return 0;
    if (kind === FRAME.item) return this.item(channel, decodeMessage(payload));
    if (kind !== FRAME.open && kind !== FRAME.call) return 0;
    const [operation, request] = decodeMessage(payload) as [string, { items?: unknown[] }];
    const items = operation === "write" ? (request.items ?? []) : [];
    return items.reduce<number>((sum, item) => sum + this.item(channel, item), 0);
  }

  private of(channel: number): { lengths: number[]; bytes: number } {
    const runs = this.coming.get(channel) ?? { lengths: [], bytes: 0 };
    this.coming.set(channel, runs);
    return runs;
  }

  private bulk(channel: number, bytes: number): number {
    const runs = this.of(channel);
    runs.bytes += bytes;
    let whole = 0;
    while (runs.lengths[0] !== undefined && runs.lengths[0] <= runs.bytes) {
      const length = runs.lengths.shift() ?? 0;
      runs.bytes -= length;
      whole += length;
    }
    return whole;
  }

  private item(channel: number, item: unknown): number {
    if (!Array.isArray(item) || !DATA_ITEMS.includes(item[0])) return 0;
    if (item[0] === "raw") this.rawBytes += item[3] as number;
    const last: unknown = item.at(-1);
    if (typeof last === "number") this.of(channel).lengths.push(last);
    return last instanceof Uint8Array ? last.length : 0;
  }
}
