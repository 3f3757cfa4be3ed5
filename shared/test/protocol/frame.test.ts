// Frames and varints: golden bytes both ways, and what is refused.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { LIMITS } from "../../src/limits.ts";
import type { Frame } from "../../src/protocol/frame.ts";
import { FRAME, decodeFrame, decodeVarint, encodeFrame, encodeVarint } from "../../src/protocol/frame.ts";
import { fromHex, hexOf, vectors } from "./vectors.ts";

const invalidFrame = { kind: "Invalid", detail: { rule: "W1" } };

function refusal(bytes: Uint8Array): unknown {
  try {
    return decodeFrame(bytes);
  } catch (error) {
    return error;
  }
}

describe("a varint", () => {
  test.each(vectors.varints)("[W1] $value is $hex", ({ value, hex }) => {
    expect(hexOf(encodeVarint(value))).toBe(hex);
    expect(decodeVarint(fromHex(hex), 0)).toEqual({ value, end: hex.length / 2 });
  });

  test("[W1] comes back whatever it is, wherever it stands", () => {
    fc.assert(
      fc.property(
        fc.maxSafeNat(),
        fc.uint8Array({ maxLength: 5 }),
        fc.uint8Array({ maxLength: 5 }),
        (value, before, after) => {
          const bytes = encodeVarint(value);
          const found = decodeVarint(Uint8Array.of(...before, ...bytes, ...after), before.length);
          expect(found).toEqual({ value, end: before.length + bytes.length });
        },
      ),
    );
  });

  test.each([
    ["nothing", ""],
    ["an end that does not come", "8080"],
    ["2^53", "8080808080808010"],
    ["nine bytes", "808080808080808001"],
    ["all ones", "ffffffffffffffff"],
  ])("[W1] refuses %s", (_what, hex) => {
    expect(() => decodeVarint(fromHex(hex), 0)).toThrow(expect.objectContaining(invalidFrame));
  });
});

describe("a frame", () => {
  test("[W1] is kind, channel, payload, and comes back as it went", () => {
    const kinds = fc.constantFrom(...Object.values(FRAME));
    fc.assert(
      fc.property(
        kinds,
        fc.maxSafeNat(),
        fc.boolean(),
        fc.uint8Array({ maxLength: 200 }),
        (kind, channel, wish, payload) => {
          const isCompressed = wish && [1, 2, 4, 8].includes(kind);
          const frame: Frame = { kind, channel, isCompressed, payload };
          const back = decodeFrame(encodeFrame(frame));
          expect({ ...back, payload: [...back.payload] }).toEqual({ ...frame, payload: [...payload] });
        },
      ),
    );
  });

  test.each([
    ["nothing at all", ""],
    ["kind 0", "0001"],
    ["a kind not yet given", "0901"],
    ["no channel", "02"],
    ["a channel that does not end", "02ff"],
    ["compressed bulk", "830100"],
    ["a compressed cancel", "8501"],
    ["a compressed credit", "860100"],
    ["a compressed acknowledgement", "870000"],
  ])("[W1] refuses %s", (_what, hex) => {
    expect(refusal(fromHex(hex))).toMatchObject(invalidFrame);
  });

  test("[W1] [limit bulkFrameBytes] carries at most 64 KiB of bulk", () => {
    const full = { kind: FRAME.bulk, channel: 1, isCompressed: false, payload: new Uint8Array(LIMITS.bulkFrameBytes) };
    expect(decodeFrame(encodeFrame(full)).payload).toHaveLength(65_536);
    expect(refusal(encodeFrame({ ...full, payload: new Uint8Array(LIMITS.bulkFrameBytes + 1) }))).toMatchObject(
      invalidFrame,
    );
  });

  test("[W1] of any bytes is a frame or Invalid, and a frame is its own bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const found = refusal(bytes);
        if (found instanceof Error) expect(found).toMatchObject(invalidFrame);
        else expect(encodeFrame(found as Frame).length).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 2000 },
    );
  });
});
