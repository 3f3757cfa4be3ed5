import { describe, expect, test } from "@jest/globals";
import { array, assert, nat, property, string } from "fast-check";
import { LineSplitter } from "../../src/calls/line-splitter.ts";

describe("LineSplitter", () => {
  test("gives the same lines however the bytes are cut", () => {
    assert(
      property(
        array(string({ unit: "grapheme", maxLength: 20 }).map((line) => line.replaceAll("\n", ""))),
        array(nat(40)),
        (lines, cuts) => {
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const splitter = new LineSplitter(1000);
          const found: string[] = [];
          let at = 0;
          for (const cut of [...cuts, bytes.length]) {
            found.push(...splitter.push(bytes.subarray(at, at + cut)));
            at += cut;
          }
          found.push(...splitter.push(bytes.subarray(at)));
          expect(found).toEqual(lines.map((line) => line.toWellFormed()));
        },
      ),
    );
  });

  test("takes a line of the greatest length, and no longer one, before its end has come", () => {
    expect(new LineSplitter(4).push(Buffer.from("abcd\n"))).toEqual(["abcd"]);
    expect(() => new LineSplitter(4).push(Buffer.from("abcde"))).toThrow(expect.objectContaining({ kind: "TooLarge" }));
  });

  test("refuses what is not UTF-8", () => {
    expect(() => new LineSplitter(10).push(Buffer.from([0xff, 0x0a]))).toThrow(
      expect.objectContaining({ kind: "Invalid" }),
    );
  });
});
