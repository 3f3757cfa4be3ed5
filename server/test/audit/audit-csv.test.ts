// The table for spreadsheets: each entry one row, no text a formula.
import { expect, test } from "@jest/globals";
import { CSV_HEADER, csvRows } from "../../src/audit/audit-csv.ts";
import type { AuditEntry } from "../../src/audit/audit-entry.ts";
import { LAPTOP } from "./audit-rig.ts";

const ENTRY: AuditEntry = {
  n: 7,
  atMs: 0,
  who: LAPTOP,
  act: "login",
  object: "docs",
  result: "done",
  count: 3,
  detail: "",
};

test("a row has the columns of the header, in their order", () => {
  expect(CSV_HEADER + csvRows([ENTRY])).toBe(
    "n,time,who,id,name,person,address,act,object,result,count,detail\r\n" +
      "7,1970-01-01T00:00:00.000Z,device,01234567,laptop,Ada,192.0.2.7,login,docs,done,3,\r\n",
  );
});

test("what a client calls itself neither breaks a row nor is a formula", () => {
  const objectOf = (object: string): string =>
    csvRows([{ ...ENTRY, object }])
      .split(",login,")[1]
      ?.split(",done,")[0] ?? "";
  const cells = ['=HYPERLINK("x")', "+1", "-1", "@a", "a,b", 'a"b', "a\r\nb", "\t=1", "a\u202Eb", "plain"].map(
    objectOf,
  );
  expect(cells).toEqual([
    '"\'=HYPERLINK(""x"")"',
    "'+1",
    "'-1",
    "'@a",
    '"a,b"',
    '"a""b"',
    String.raw`a\u{d}\u{a}b`,
    String.raw`\u{9}=1`,
    String.raw`a\u{202e}b`,
    "plain",
  ]);
  expect(csvRows([{ ...ENTRY, atMs: 1e300 }])).toContain("7,1e+300,");
});
