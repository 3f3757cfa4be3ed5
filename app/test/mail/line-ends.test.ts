// Finds line ends that are none, and doubles dots, wherever a mail is cut.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { DotStuffing, LineEnds } from "../../src/mail/line-ends.ts";

const text = fc.array(fc.constantFrom("\r", "\n", "\r\n", ".", "..", "x", "\r\n.\r\n")).map((words) => words.join(""));
const pieces = fc.integer({ min: 1, max: 5 });

function cut(mail: string, pieceBytes: number): Buffer[] {
  const bytes = Buffer.from(mail);
  return Array.from({ length: Math.ceil(bytes.length / pieceBytes) }, (_, at) =>
    bytes.subarray(at * pieceBytes, (at + 1) * pieceBytes),
  );
}

describe("lines of a mail", () => {
  test("are right when each CR has its LF and each LF its CR", () => {
    fc.assert(
      fc.property(text, pieces, (mail, by) => {
        const lineEnds = new LineEnds();
        for (const bytes of cut(mail, by)) lineEnds.take(bytes);
        expect(lineEnds.endedRight).toBe(!/\r(?!\n)|(?<!\r)\n/.test(mail));
      }),
    );
  });

  test("that begin with a dot get another, and the mail an end that stands nowhere in it", () => {
    fc.assert(
      fc.property(text, pieces, (words, by) => {
        const mail = words.replaceAll(/\r(?!\n)|(?<!\r)\n/g, "\r\n");
        const stuffing = new DotStuffing();
        const sent = Buffer.concat([...cut(mail, by).map((bytes) => stuffing.take(bytes)), stuffing.end()]).toString();
        const stuffed = mail.replaceAll(/(^|\n)\./g, "$1..");
        const end = mail === "" || mail.endsWith("\n") ? ".\r\n" : "\r\n.\r\n";
        expect(sent).toBe(stuffed + end);
        expect(`\r\n${sent}`.indexOf("\r\n.\r\n")).toBe(sent.length + 2 - 5);
      }),
    );
  });
});
