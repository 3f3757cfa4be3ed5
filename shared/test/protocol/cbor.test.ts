// CBOR as the wire has it: golden bytes, and every way of being wrong refused before the library sees it.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { RunnelError } from "../../src/errors.ts";
import { LIMITS } from "../../src/limits.ts";
import { decodeCbor, decodeMessage, encodeCbor, encodeMessage } from "../../src/protocol/cbor.ts";
import { FIELD_NAMES } from "../../src/protocol/keys.ts";
import { fromHex, hexOf, valueOf, vectors } from "./vectors.ts";

function refusal(bytes: Uint8Array): unknown {
  try {
    return decodeCbor(bytes);
  } catch (error) {
    return error;
  }
}

/** Arrays and byte strings that two engines would compare by identity, as plain values. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return { hex: hexOf(value) };
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]));
}

describe("golden CBOR", () => {
  test.each(vectors.cbor)("[W2] $hex", ({ value, hex }) => {
    expect(hexOf(encodeCbor(valueOf(value)))).toBe(hex);
    expect(plain(decodeCbor(fromHex(hex)))).toEqual(plain(valueOf(value)));
  });
});

describe("CBOR", () => {
  test("[W2] brings back what it was given", () => {
    const leaf = fc.oneof(
      fc.boolean(),
      fc.constant(null),
      fc.maxSafeInteger(),
      // The integer 0 has no sign.
      fc.double({ noNaN: true }).filter((number) => !Object.is(number, -0)),
      fc.string({ unit: "binary" }),
      fc.uint8Array({ maxLength: 100 }),
      fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n }),
      fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    );
    const key = fc.string().filter((word) => word !== "__proto__");
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { maxDepth: 4 },
        leaf,
        fc.array(tie("any"), { maxLength: 5 }),
        fc.dictionary(key, tie("any"), { maxKeys: 5 }),
      ),
    })).any;
    fc.assert(
      fc.property(value, (message) => {
        expect(plain(decodeCbor(encodeCbor(message)))).toEqual(plain(message));
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["nothing", ""],
    ["bytes after the end", "0000"],
    ["a head without its argument", "19ff"],
    ["an array without its items", "8201"],
    ["a tag", "c000"],
    ["a big number (tag 2)", "c249010000000000000000"],
    ["a tag inside", "81d81800"],
    ["an array of no declared length", "9f01ff"],
    ["a map of no declared length", "bfff"],
    ["text of no declared length", "7f6161ff"],
    ["bytes of no declared length", "5f4100ff"],
    ["a break alone", "ff"],
    ["a reserved length", "1c"],
    ["a number as key", "a10102"],
    ["bytes as key", "a1410002"],
    ["an array as key", "a18002"],
    ["a number as second key", "a261610102"],
    ["text that is not UTF-8", "61ff"],
    ["half a surrogate pair", "63eda080"],
    ["a key that is not UTF-8", "a161ff00"],
    ["a simple value without meaning", "e0"],
    ["a simple value without meaning, long", "f8ff"],
  ])("[W2] refuses %s", (_what, hex) => {
    expect(refusal(fromHex(hex))).toMatchObject({ kind: "Invalid", detail: { rule: "W2" } });
  });

  test.each([
    ["an array of 2^64 - 1 items", "9bffffffffffffffff"],
    ["a map of 2^63 pairs", "bb8000000000000000"],
    ["4 GiB of bytes", "5affffffff"],
    ["text of 2^64 - 1 bytes", "7bffffffffffffffff"],
    ["more items than bytes", "8418"],
    ["arrays that promise more than is left", `${"9a00010000".repeat(8)}00`],
  ])("[W2] refuses %s without reserving memory for it", (_what, hex) => {
    const before = process.memoryUsage().arrayBuffers;
    expect(refusal(fromHex(hex))).toMatchObject({ kind: "Invalid", detail: { rule: "W2" } });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1024 * 1024);
  });

  test("[W3] [limit cborDepth] is nested at most 16 deep", () => {
    const nested = (depth: number): Uint8Array => fromHex(`${"81".repeat(depth)}00`);
    expect(refusal(nested(LIMITS.cborDepth))).not.toBeInstanceOf(Error);
    expect(refusal(nested(LIMITS.cborDepth + 1))).toMatchObject({ kind: "Invalid", detail: { rule: "W3" } });
    expect(refusal(nested(1_000_000))).toMatchObject({ kind: "Invalid", detail: { rule: "W3" } });
    expect(refusal(fromHex(`${"a16161".repeat(17)}00`))).toMatchObject({ detail: { rule: "W3" } });
  });

  test("[W3] [limit controlBytes] has at most 1 MiB", () => {
    const of = (length: number): Uint8Array => encodeCbor(new Uint8Array(length));
    expect(refusal(of(LIMITS.controlBytes - 5))).toBeInstanceOf(Uint8Array);
    expect(refusal(of(LIMITS.controlBytes - 4))).toMatchObject({ kind: "Invalid", detail: { rule: "W3" } });
  });

  test("[W2] cannot reach the prototype of what it becomes", () => {
    const message = decodeCbor(fromHex("a1695f5f70726f746f5f5fa1656f776e656401")) as { owned?: unknown };
    expect(message.owned).toBeUndefined();
    expect(({} as { owned?: unknown }).owned).toBeUndefined();
  });

  test("[W2] [W3] of any bytes is a value or Invalid", () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 64 }),
      // Heads with lengths, so that more of them get past the first byte.
      fc
        .array(fc.constantFrom(0x80, 0x81, 0x82, 0xa1, 0x41, 0x61, 0x18, 0x1b, 0x3b, 0xf6, 0xfb, 0, 0xff), {
          maxLength: 64,
        })
        .map((list) => Uint8Array.from(list)),
    );
    let values = 0;
    fc.assert(
      fc.property(bytes, (input) => {
        const found = refusal(input);
        if (!(found instanceof Error)) values++;
        else expect(found).toBeInstanceOf(RunnelError);
        if (found instanceof Error) expect(found).toMatchObject({ kind: "Invalid" });
      }),
      { numRuns: 5000 },
    );
    expect(values).toBeGreaterThan(100);
  });
});

describe("a message", () => {
  test("[W56] has its known fields as numbers, at any depth, and comes back with their names", () => {
    const message = { node: 5, of: [{ sizeBytes: 6, other: { attachment: 7 } }] };
    const bytes = encodeMessage(message);
    expect(hexOf(bytes)).toBe("a20405626f6681a21006656f74686572a10007");
    expect(decodeMessage(bytes)).toEqual(message);
    expect(decodeMessage(encodeCbor(message))).toEqual(message);
  });

  test("[W56] [W2] has no numbers for fields that there are not", () => {
    expect(() => decodeMessage(fromHex(`a118${FIELD_NAMES.length.toString(16)}00`))).toThrow("no field");
    expect(() => decodeMessage(fromHex("a12000"))).toThrow("no field");
    expect(() => decodeCbor(fromHex("a10400"))).toThrow("no field");
  });
});
