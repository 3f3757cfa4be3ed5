// URIs of objects are read strictly: they may come from anybody.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  LIMITS,
  OBJECT_URI_LIMITS,
  formatObjectUri,
  formatUntil,
  isObjectName,
  parseObjectUri,
  parseUntil,
} from "../../src/model.ts";

interface Vectors {
  uris: { uri: string; oid: string; sizeBytes: number; hints: string[] }[];
  refused: { uri: string; why: string }[];
}

const vectors = JSON.parse(readFileSync(join(import.meta.dirname, "../../vectors/objects.json"), "utf8")) as Vectors;
const OID = "0123456789abcdef".repeat(4);

test.each(vectors.uris)("a URI is read and written as the vectors say: $uri", ({ uri, ...said }) => {
  expect(parseObjectUri(uri)).toEqual(said);
  expect(formatObjectUri(said)).toBe(uri);
});

test.each(vectors.refused)("what is no URI of an object is refused ($why)", ({ uri }) => {
  expect(() => parseObjectUri(uri)).toThrow(expect.objectContaining({ kind: "Invalid" }));
});

test("what can be said is read as it was written", () => {
  const hint = fc
    .tuple(
      fc.constantFrom("ws", "wss"),
      fc.domain(),
      fc.nat(65_535),
      fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    )
    .map(([scheme, host, port, volume]) => `${scheme}://${host}:${port}/${encodeURIComponent(volume)}`);
  const hints = fc.array(hint, { maxLength: 4 });
  fc.assert(
    fc.property(fc.nat(LIMITS.fileBytes), hints, (sizeBytes, places) => {
      const uri = { oid: OID, sizeBytes, hints: places };
      expect(parseObjectUri(formatObjectUri(uri))).toEqual(uri);
    }),
  );
});

describe("bounds", () => {
  const hint = "wss://a:1/b";
  const field = `&hint=${encodeURIComponent(hint)}`;

  test("as many hints as there may be are read, one more is refused", () => {
    const { hints } = OBJECT_URI_LIMITS;
    expect(parseObjectUri(`runnel:${OID}?size=1${field.repeat(hints)}`).hints).toHaveLength(hints);
    expect(() => parseObjectUri(`runnel:${OID}?size=1${field.repeat(hints + 1)}`)).toThrow(/more than 8 hints/);
    expect(() => formatObjectUri({ oid: OID, sizeBytes: 1, hints: Array(hints + 1).fill(hint) })).toThrow(/hints/);
  });

  test("a hint and a URI that are too long are refused", () => {
    const long = `wss://a:1/${"b".repeat(OBJECT_URI_LIMITS.hintCharacters)}`;
    expect(() => formatObjectUri({ oid: OID, sizeBytes: 1, hints: [long] })).toThrow(/Its hint .* is not/);
    const characters = `runnel:${OID}?size=1${field.repeat(1000)}`;
    expect(() => parseObjectUri(characters)).toThrow(/more than 4096 characters/);
  });
});

test("the end of an object's life is decimal seconds, and nothing else", () => {
  const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
  expect(parseUntil(formatUntil(1_800_000_000.2))).toBe(1_800_000_001);
  expect(parseUntil(formatUntil(Infinity))).toBe(253_402_300_799);
  for (const text of ["", "0", "01", "-1", "1.5", "1e9", " 1", "1 ", "253402300800", "9".repeat(13), "soon"])
    expect(parseUntil(bytes(text))).toBeUndefined();
  expect(parseUntil(undefined)).toBeUndefined();
});

test("only an OID is the name of an object", () => {
  expect(isObjectName(OID)).toBe(true);
  for (const name of [OID.toUpperCase(), OID.slice(1), `${OID}0`, `.${OID}`, ""])
    expect(isObjectName(name)).toBe(false);
});
