// Every SHA-256 engine that this processor can run, against node:crypto.
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { coreAddon } from "../src/host/core-addon.ts";
import type { DigestEngine } from "../src/host/core-addon.ts";

const { digestEngines } = coreAddon();
const expected = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function digest(engine: DigestEngine, pieces: readonly Uint8Array[]): string {
  const stream = new (coreAddon().DigestStream)(engine);
  for (const piece of pieces) stream.update(piece);
  return Buffer.from(stream.finish()).toString("hex");
}

async function digestAll(buffers: readonly Uint8Array[], engine?: DigestEngine): Promise<string> {
  return Buffer.from(await coreAddon().digest(buffers, engine)).toString("hex");
}

describe.each(digestEngines)("SHA-256 of many buffers at once, %s", (engine) => {
  const bytes = randomBytes(200_000);

  test("is right for every length around its blocks, with any number of buffers", async () => {
    const buffers = Array.from({ length: 300 }, (_, length) => bytes.subarray(1000 - length, 1000));
    for (const count of [1, 2, 3, 7, 15, 16, 17, 33, 300]) {
      for (let at = 0; at < buffers.length; at += count) {
        const some = buffers.slice(at, at + count);
        expect(await digestAll(some, engine)).toBe(some.map(expected).join(""));
      }
    }
  });

  test("is right for buffers of all sizes beside each other", async () => {
    const sizes = fc.array(fc.oneof(fc.nat(130), fc.nat(9000), fc.nat(200_000)), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(sizes, async (lengths) => {
        const buffers = lengths.map((length, at) =>
          bytes.subarray(Math.min(at, bytes.length - length)).subarray(0, length),
        );
        expect(await digestAll(buffers, engine)).toBe(buffers.map(expected).join(""));
      }),
      { numRuns: 40 },
    );
  });
});

for (const engine of (["portable", "instructions"] as const).filter((name) => digestEngines.includes(name))) {
  describe(`SHA-256 of a stream, ${engine}`, () => {
    test("is right for every length around its blocks", () => {
      const bytes = randomBytes(300);
      for (let length = 0; length <= bytes.length; length++) {
        const part = bytes.subarray(0, length);
        expect(digest(engine, [part])).toBe(expected(part));
      }
    });

    test("is right for a long content", () => {
      const bytes = randomBytes(5_000_003);
      expect(digest(engine, [bytes])).toBe(expected(bytes));
    });

    test("does not depend on how the content is split", () => {
      fc.assert(
        fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (pieces) => {
          expect(digest(engine, pieces)).toBe(expected(Buffer.concat(pieces)));
        }),
      );
    });

    test("starts anew after each digest", () => {
      const stream = new (coreAddon().DigestStream)(engine);
      for (const text of ["one", "two", ""]) {
        stream.update(Buffer.from(text));
        expect(Buffer.from(stream.finish()).toString("hex")).toBe(expected(Buffer.from(text)));
      }
    });
  });
}

describe("the choice of the engine", () => {
  test("has the portable one", () => {
    expect(digestEngines.at(-1)).toBe("portable");
  });

  test("refuses one that is not there", async () => {
    expect(() => new (coreAddon().DigestStream)("none" as DigestEngine)).toThrow(/none/);
    expect(() => coreAddon().digest([], "none" as DigestEngine)).toThrow(/none/);
  });

  test("refuses one of several streams for a single one", () => {
    for (const engine of digestEngines.filter((name) => name === "lanes" || name === "interleaved")) {
      expect(() => new (coreAddon().DigestStream)(engine)).toThrow(engine);
    }
  });
});
