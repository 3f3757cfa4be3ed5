// Decodes base64 that is had again byte for byte, and no other.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { Base64Decoder, Base64Encoder, base64Length } from "../../src/mail/base64-lines.ts";

function decode(
  text: string,
  pieceBytes: number,
): { bytes: Buffer; textBytes: number; lineCharacters: number } | undefined {
  const decoder = new Base64Decoder();
  const all: Buffer[] = [];
  for (let at = 0; at < text.length; at += pieceBytes)
    all.push(decoder.take(Buffer.from(text.slice(at, at + pieceBytes))));
  const ended = decoder.end();
  return ended && { ...ended, bytes: Buffer.concat([...all, ended.bytes]) };
}

function encode(bytes: Uint8Array, lineCharacters: number, pieceBytes: number): string {
  const encoder = new Base64Encoder(lineCharacters);
  const all: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) all.push(encoder.take(bytes.subarray(at, at + pieceBytes)));
  return Buffer.concat([...all, encoder.end()]).toString();
}

describe("base64 in lines", () => {
  test("is decoded and made again, whatever the bytes, the lines, the pieces and the line ends behind it", () => {
    const piece = fc.integer({ min: 1, max: 200 });
    const some = fc.uint8Array({ minLength: 1, maxLength: 700 });
    fc.assert(
      fc.property(
        some,
        fc.constantFrom(4, 60, 76, 996),
        piece,
        fc.constantFrom("", "\r\n", "\r\n\r\n"),
        (bytes, line, by, end) => {
          const text = encode(bytes, line, by);
          expect(text.replaceAll("\r\n", "")).toBe(Buffer.from(bytes).toString("base64"));
          expect(text).toHaveLength(base64Length(bytes.length, line));
          const decoded = decode(text + end, by);
          expect(decoded).toMatchObject({ textBytes: text.length });
          expect(decoded?.bytes).toEqual(Buffer.from(bytes));
          expect(encode(bytes, decoded?.lineCharacters ?? 0, by)).toBe(text);
        },
      ),
    );
  });

  test.each([
    ["other line ends", "aGVs\nbG8="],
    ["lines of several lengths", "aGVs\r\nbG8hbG8h\r\nbG8="],
    ["bits behind the last byte", "aGVsbG9="],
    ["text behind the end", "aGVsbG8=\r\naGVs"],
    ["other letters", "aGV*bG8="],
    ["no padding", "aGVsbG8"],
    ["an empty line within", "aGVs\r\n\r\naGVs"],
    ["blanks", "aGVs \r\naGVs"],
    ["a line that is too long", "a".repeat(1000)],
    ["nothing", "\r\n"],
  ])("with %s is left as it is", (_what, text) => {
    expect(decode(text, 3)).toBeUndefined();
  });
});
