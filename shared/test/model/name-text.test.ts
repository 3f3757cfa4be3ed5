import { describe, expect, test } from "@jest/globals";
import * as fc from "fast-check";
import { isTextOfName, nameOfText, textOfName } from "../../src/model/name-text.ts";

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

describe("[W78] the text of a name", () => {
  test.each([
    ["", ""],
    ["67727ce4", "gr|\uf7e4"],
    ["6772c3bce2", "grü\uf7e2"],
    ["f09f8c8a", "🌊"],
    ["f09f8c", "\uf7f0\uf79f\uf78c"],
    ["eda080", "\uf7ed\uf7a0\uf780"],
    ["c080", "\uf7c0\uf780"],
    ["efbbbf", "\ufeff"],
    ["ef9dbf", "\uf77f"],
    ["ef9e80", "\uf7ef\uf79e\uf780"],
    ["ef9fbf", "\uf7ef\uf79f\uf7bf"],
    ["efa080", "\uf800"],
  ])("of %s is %j", (name, text) => {
    expect(textOfName(bytes(name))).toBe(text);
    expect(Buffer.from(nameOfText(text)).toString("hex")).toBe(name);
    expect(isTextOfName(text)).toBe(true);
  });

  test("leads back to the same bytes, and no other text does", () => {
    const mixed = fc.array(fc.oneof(fc.uint8Array({ maxLength: 4 }), fc.string({ unit: "binary" }).map(Buffer.from)));
    fc.assert(
      fc.property(mixed, (parts) => {
        const name = Buffer.concat(parts);
        expect(Buffer.from(nameOfText(textOfName(name))).equals(name)).toBe(true);
        expect(isTextOfName(textOfName(name))).toBe(true);
      }),
    );
    const standIns = fc.string({
      unit: fc.integer({ min: 0xf780, max: 0xf7ff }).map((unit) => String.fromCharCode(unit)),
    });
    fc.assert(
      fc.property(standIns, (text) => {
        expect(isTextOfName(text)).toBe(textOfName(nameOfText(text)) === text);
        expect(textOfName(nameOfText(textOfName(nameOfText(text))))).toBe(textOfName(nameOfText(text)));
      }),
    );
  });
});
