// Both SHA-256 engines against node:crypto.
import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "@jest/globals";
import * as fc from "fast-check";
import { coreAddon } from "../src/host/core-addon.ts";
import type { DigestEngine } from "../src/host/core-addon.ts";

const expected = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

function digest(engine: DigestEngine, pieces: readonly Uint8Array[]): string {
  const stream = new (coreAddon().DigestStream)(engine);
  for (const piece of pieces) stream.update(piece);
  return Buffer.from(stream.finish()).toString("hex");
}

function isHere(engine: DigestEngine): boolean {
  try {
    digest(engine, []);
    return true;
  } catch {
    return false;
  }
}

for (const engine of ["portable", "instructions"] as const) {
  (isHere(engine) ? describe : describe.skip)(`SHA-256, ${engine}`, () => {
    it("is right for every length around its blocks", () => {
      const bytes = randomBytes(300);
      for (let length = 0; length <= bytes.length; length++) {
        const part = bytes.subarray(0, length);
        expect(digest(engine, [part])).toBe(expected(part));
      }
    });

    it("is right for a long content", () => {
      const bytes = randomBytes(5_000_003);
      expect(digest(engine, [bytes])).toBe(expected(bytes));
    });

    it("does not depend on how the content is split", () => {
      fc.assert(
        fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 20 }), (pieces) => {
          expect(digest(engine, pieces)).toBe(expected(Buffer.concat(pieces)));
        }),
      );
    });

    it("starts anew after each digest", () => {
      const stream = new (coreAddon().DigestStream)(engine);
      for (const text of ["one", "two", ""]) {
        stream.update(Buffer.from(text));
        expect(Buffer.from(stream.finish()).toString("hex")).toBe(expected(Buffer.from(text)));
      }
    });
  });
}

describe("the choice of the engine", () => {
  it("refuses one that is not there", () => {
    expect(() => new (coreAddon().DigestStream)("none" as DigestEngine)).toThrow(/none/);
  });
});
