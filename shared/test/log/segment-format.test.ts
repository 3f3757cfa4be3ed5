import { crc32 } from "node:zlib";
import { describe, expect, test } from "@jest/globals";
import {
  RECORD_BYTES_MAX,
  RECORD_HEAD_BYTES,
  decodeRecordHead,
  decodeSegmentHeader,
  encodeRecord,
  encodeSegmentHeader,
  isPayloadWhole,
  segmentName,
  segmentOfName,
  viewOf,
} from "../../src/log/segment-format.ts";

const FORMAT = { magic: "TEST", version: 3 };
const HEADER = { version: 3, segment: 7, previousBytes: 4096, salt: 0xdeadbeef };

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("hex");
}

describe("the bytes of a segment", () => {
  test("[F1] are in a file named by ten digits, from 1", () => {
    expect(segmentName(42)).toBe("0000000042.log");
    expect(segmentOfName("0000000042.log")).toBe(42);
    for (const name of [
      "0000000000.log",
      "42.log",
      "00000000042.log",
      "0000000042.log~",
      "x0000000042.log",
      "0000000042",
    ]) {
      expect([name, segmentOfName(name)]).toEqual([name, undefined]);
    }
  });

  test("[F2] begin with magic, version, number, length before, salt and check", () => {
    const bytes = encodeSegmentHeader("TEST", HEADER);
    expect(hex(bytes)).toBe("544553540300000007000000000000000010000000000000efbeaddea09d03f5");
    expect(decodeSegmentHeader(bytes, FORMAT)).toEqual(HEADER);
  });

  test("[F2] do not pass for a header with any bit changed, cut short, or of another kind of log", () => {
    const bytes = encodeSegmentHeader("TEST", HEADER);
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      let outcome: unknown;
      try {
        outcome = decodeSegmentHeader(changed, FORMAT);
      } catch (error) {
        outcome = (error as { kind: string }).kind;
      }
      expect(["Version", undefined]).toContain(outcome);
    }
    expect(decodeSegmentHeader(bytes.subarray(0, 31), FORMAT)).toBeUndefined();
    expect(decodeSegmentHeader(bytes, { magic: "ELSE", version: 3 })).toBeUndefined();
  });

  test("[F3] of a newer version are refused by name, whatever follows the version; older ones are read", () => {
    const newer = encodeSegmentHeader("TEST", { ...HEADER, version: 4 });
    newer.fill(0xff, 8);
    expect(() => decodeSegmentHeader(newer, FORMAT)).toThrow(
      expect.objectContaining({
        kind: "Version",
        detail: { need: 4 },
        message: expect.stringContaining("newer Runnel"),
      }),
    );
    const older = encodeSegmentHeader("TEST", { ...HEADER, version: 1 });
    expect(decodeSegmentHeader(older, FORMAT)?.version).toBe(1);
  });

  test("[F4] [F5] hold records of length, distance, payload check, head check and payload", () => {
    const bytes = new Uint8Array(RECORD_HEAD_BYTES + 3);
    encodeRecord(bytes, 0, 100, HEADER.salt, 60, Uint8Array.of(1, 2, 3));
    const place = Buffer.alloc(8);
    place.writeBigUInt64LE(100n);
    expect(hex(bytes.subarray(0, 8))).toBe("0300000028000000");
    expect(Buffer.from(bytes).readUInt32LE(8)).toBe(crc32(Uint8Array.of(1, 2, 3), HEADER.salt));
    expect(Buffer.from(bytes).readUInt32LE(12)).toBe(crc32(bytes.subarray(0, 12), crc32(place, HEADER.salt)));
    expect(hex(bytes.subarray(16))).toBe("010203");
    const head = decodeRecordHead(viewOf(bytes), 0, 100, HEADER.salt);
    expect(head).toMatchObject({ length: 3, syncedTo: 60 });
    if (head === undefined) throw new Error("no head");
    expect(isPayloadWhole(head, bytes.subarray(16), HEADER.salt)).toBe(true);
    expect(isPayloadWhole(head, Uint8Array.of(1, 2, 4), HEADER.salt)).toBe(false);
  });

  test("[F4] say of a distance beyond 32 bits only that nothing is known to be synced", () => {
    const bytes = new Uint8Array(RECORD_HEAD_BYTES);
    const offset = 2 ** 33;
    encodeRecord(bytes, 0, offset, 1, 2 ** 20, new Uint8Array(0));
    expect(decodeRecordHead(viewOf(bytes), 0, offset, 1)?.syncedTo).toBe(32);
    encodeRecord(bytes, 0, offset, 1, offset - 2 ** 32 + 2, new Uint8Array(0));
    expect(decodeRecordHead(viewOf(bytes), 0, offset, 1)?.syncedTo).toBe(offset - 2 ** 32 + 2);
  });

  test("[F5] are no record head at another offset, under another salt, or with any bit changed", () => {
    const bytes = new Uint8Array(RECORD_HEAD_BYTES);
    encodeRecord(bytes, 0, 100, 5, 100, new Uint8Array(0));
    expect(decodeRecordHead(viewOf(bytes), 0, 100, 5)).toBeDefined();
    expect(decodeRecordHead(viewOf(bytes), 0, 101, 5)).toBeUndefined();
    expect(decodeRecordHead(viewOf(bytes), 0, 100, 6)).toBeUndefined();
    for (let bit = 0; bit < 8 * bytes.length; bit++) {
      const changed = bytes.slice();
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(decodeRecordHead(viewOf(changed), 0, 100, 5)).toBeUndefined();
    }
  });

  test("[F4] are no record of more than 256 MiB, nor zeros, nor a head cut short", () => {
    const bytes = new Uint8Array(RECORD_HEAD_BYTES);
    expect(decodeRecordHead(viewOf(bytes), 0, 32, 0)).toBeUndefined();
    encodeRecord(bytes, 0, 32, 0, 32, new Uint8Array(0));
    expect(decodeRecordHead(viewOf(bytes.subarray(0, 15)), 0, 32, 0)).toBeUndefined();
    const view = new DataView(bytes.buffer);
    view.setUint32(0, RECORD_BYTES_MAX + 1, true);
    view.setUint32(12, crc32(bytes.subarray(0, 12), crc32(Buffer.from("2000000000000000", "hex"), 0)), true);
    expect(decodeRecordHead(viewOf(bytes), 0, 32, 0)).toBeUndefined();
    view.setUint32(0, RECORD_BYTES_MAX, true);
    view.setUint32(12, crc32(bytes.subarray(0, 12), crc32(Buffer.from("2000000000000000", "hex"), 0)), true);
    expect(decodeRecordHead(viewOf(bytes), 0, 32, 0)?.length).toBe(RECORD_BYTES_MAX);
  });
});
