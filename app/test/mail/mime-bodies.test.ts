// Finds bodies in mails of many forms, cut into pieces anywhere.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { MimeBodies } from "../../src/mail/mime-bodies.ts";

function bodiesOf(mail: string, smallestBytes = 1, pieceBytes = mail.length): [text: string, isBase64: boolean][] {
  const bytes = Buffer.from(mail, "latin1");
  const scanner = new MimeBodies(smallestBytes);
  for (let at = 0; at < bytes.length; at += pieceBytes) scanner.take(bytes.subarray(at, at + pieceBytes));
  return scanner.end().map(({ begin, end, isBase64 }) => [bytes.toString("latin1", begin, end), isBase64]);
}

const lines = (...all: string[]): string => all.map((line) => `${line}\r\n`).join("");

const nested = lines(
  "Content-Type: multipart/mixed;",
  '\tboundary="a\\"b"',
  "",
  "before",
  '--a"b',
  "Content-Type: multipart/alternative; boundary=inner",
  "",
  "--inner",
  "",
  "plain",
  "",
  "--inner  ",
  "Content-Type: text/html",
  "Content-transfer-encoding: BASE64",
  "",
  "aGVsbG8=",
  "--inner--",
  "between",
  '--a"b',
  "Content-Type: message/rfc822",
  "",
  "Subject: a mail in a mail",
  "",
  "its text",
  '--a"b--',
  "after",
);

describe("bodies", () => {
  test("are those between boundaries, without the line end before one, however the mail is cut", () => {
    const expected = [
      ["plain\r\n", false],
      ["aGVsbG8=", true],
      ["its text", false],
    ];
    for (let pieceBytes = 1; pieceBytes <= nested.length; pieceBytes++)
      expect(bodiesOf(nested, 1, pieceBytes)).toEqual(expected);
    expect(bodiesOf(nested, 8)).toEqual(expected.slice(1));
  });

  test.each<[what: string, mail: string, bodies: string[]]>([
    ["a mail without parts", lines("Subject: x", "", "text", "", "more"), [lines("text", "", "more")]],
    ["a mail without a header", lines("", "text"), ["text\r\n"]],
    ["a mail that ends within its header", lines("Subject: x"), []],
    [
      "a multipart without a boundary",
      lines("Content-Type: multipart/mixed", "", "--x", "", "a"),
      [lines("--x", "", "a")],
    ],
    ["a part that the mail ends in", lines("Content-Type: multipart/x; boundary=b", "", "--b", "", "a"), ["a\r\n"]],
    ["an empty part", lines("Content-Type: multipart/x; boundary=b", "", "--b", "", "--b--"), []],
    [
      "an outer boundary that ends an inner one",
      lines(...nested.split("\r\n").filter((line) => line !== "--inner--")),
      ["plain\r\n", "aGVsbG8=\r\nbetween", "its text"],
    ],
    ["a long line", lines("", "x".repeat(5000)), [`${"x".repeat(5000)}\r\n`]],
  ])("of %s", (_what, mail, bodies) => {
    expect(bodiesOf(mail).map(([text]) => text)).toEqual(bodies);
    expect(bodiesOf(mail, 1, 3).map(([text]) => text)).toEqual(bodies);
  });

  test("are within the mail and in order, whatever it is", () => {
    const word = fc.constantFrom(
      "--b",
      "--b--",
      "\r\n",
      "\n",
      "\r",
      "Content-Type: multipart/x; boundary=b",
      "",
      "text",
    );
    fc.assert(
      fc.property(fc.array(word), fc.integer({ min: 1, max: 9 }), (words, pieceBytes) => {
        const bytes = Buffer.from(words.join(""));
        const scanner = new MimeBodies(1);
        for (let at = 0; at < bytes.length; at += pieceBytes) scanner.take(bytes.subarray(at, at + pieceBytes));
        let last = 0;
        for (const { begin, end } of scanner.end()) {
          expect(begin).toBeGreaterThanOrEqual(last);
          expect(end).toBeGreaterThan(begin);
          last = end;
        }
        expect(last).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});
