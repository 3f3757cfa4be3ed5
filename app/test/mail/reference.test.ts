// Writes and reads mails by reference, and refuses what none can say.
import { describe, expect, test } from "@jest/globals";
import { LIMITS, isRunnelError } from "@runnel/shared";
import fc from "fast-check";
import { base64Length } from "../../src/mail/base64-lines.ts";
import { type MailReference, WHOLE, formatReference, parseFramed, restOf } from "../../src/mail/reference.ts";

const OID = "ab".repeat(32);
const reference: MailReference = {
  sizeBytes: 1000,
  digest: OID,
  parts: [
    { offset: 10, length: base64Length(300, 76), base64Line: 76, oid: OID, sizeBytes: 300 },
    { offset: 700, length: 300, base64Line: undefined, oid: OID, sizeBytes: 300 },
  ],
};
const text = formatReference(reference).toString();

function refusal(content: string | Uint8Array): string {
  try {
    parseFramed(Buffer.from(content));
  } catch (error) {
    if (isRunnelError(error)) return error.kind;
    throw error;
  }
  return "taken";
}

describe("a mail by reference", () => {
  test("is read as it was written, whatever follows it", () => {
    const expected = { reference, restOffset: text.length, restBytes: restOf(reference) };
    expect(parseFramed(Buffer.from(`${text}From: x\r\n`))).toEqual(expected);
    expect(parseFramed(Buffer.from(`${WHOLE}runnel-mail/1 parts\r\n`))).toEqual({
      reference: undefined,
      restOffset: WHOLE.length,
      restBytes: undefined,
    });
  });

  const changed = (from: string | RegExp, to: string): string => text.replace(from, to);
  test.each<[what: string, content: string]>([
    ["nothing", ""],
    ["a plain mail", "Subject: x\r\n\r\nrunnel-mail/1 whole\r\n"],
    ["another version", changed("/1 parts", "/2 parts")],
    ["another kind", changed("/1 parts", "/1 some")],
    ["more behind the kind", changed("/1 parts", "/1 parts x")],
    ["a volume of its own", changed("size=300", `size=300&hint=${encodeURIComponent("wss://evil.example/x")}`)],
    ["another scheme", changed("runnel:", "file:")],
    ["an object of another length", changed("size=300", "size=301")],
    ["another encoding", changed("base64/76", "base64/77")],
    ["no encoding", changed("base64/76", "gzip")],
    ["parts that overlap", changed("part 700", "part 100")],
    ["a part behind the end", changed("part 700", "part 701")],
    ["an offset that is no number", changed("part 700", "part -700")],
    ["a number of many digits", changed("part 700", "part 99999999999999999999")],
    ["another rest", changed(/rest \d+/, "rest 5")],
    ["no rest", changed(/rest \d+\r\n/, "")],
    ["no part", changed(/part .*\r\npart .*\r\n/, "")],
    ["no digest", changed(`1000 ${OID}`, "1000 ")],
    ["a line of something else", changed("rest ", "note x\r\nrest ")],
    ["no end of its line", text.slice(0, -2)],
  ])("is refused with %s", (_what, content) => {
    expect(refusal(content)).toBe("Invalid");
  });

  test("[limit mailParts] has so many parts and no more", () => {
    const part = (at: number): string => `part ${at * 5} 5 raw runnel:${OID}?size=5\r\n`;
    const of = (count: number): string =>
      `runnel-mail/1 parts\r\nmessage ${count * 5} ${OID}\r\n${Array.from({ length: count }, (_, at) => part(at)).join("")}rest 0\r\n`;
    expect(refusal(of(LIMITS.mailParts))).toBe("taken");
    expect(refusal(of(LIMITS.mailParts + 1))).toBe("TooLarge");
  });

  test("[limit mailReferenceBytes] is read that far, to the end of its lines", () => {
    expect(refusal(`runnel-mail/1 parts\r\nmessage ${"9".repeat(LIMITS.mailReferenceBytes)}`)).toBe("TooLarge");
  });

  test("[limit mailBytes] is of a mail of that size and no larger", () => {
    const of = (sizeBytes: number): string =>
      `runnel-mail/1 parts\r\nmessage ${sizeBytes} ${OID}\r\npart 0 5 raw runnel:${OID}?size=5\r\nrest ${sizeBytes - 5}\r\n`;
    expect(refusal(of(LIMITS.mailBytes))).toBe("taken");
    expect(refusal(of(LIMITS.mailBytes + 1))).toBe("TooLarge");
  });

  test("is refused or is one that comes out the same, whatever is changed in it", () => {
    const at = fc.integer({ min: 0, max: text.length - 1 });
    const change = fc.tuple(at, fc.string({ maxLength: 3 }));
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        let content = text;
        for (const [place, put] of changes) content = content.slice(0, place) + put + content.slice(place + 1);
        if (refusal(content) !== "taken") return;
        const read = parseFramed(Buffer.from(content)).reference;
        if (read !== undefined) expect(parseFramed(formatReference(read)).reference).toEqual(read);
      }),
      { numRuns: 2000 },
    );
  });
});
