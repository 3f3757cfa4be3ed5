// Names of temporary files and backups, as programs make them.
import { expect, test } from "@jest/globals";
import { replacedName } from "../../src/agent/transfer/replaced-name.ts";

test.each([
  ["report.odt~", "report.odt"],
  ["#main.c#", "main.c"],
  [".#main.c", "main.c"],
  [".~lock.report.odt#", "report.odt"],
  ["~$report.docx", "report.docx"],
  ["App.tsx___jb_tmp___", "App.tsx"],
  ["App.tsx___jb_old___", "App.tsx"],
  ["report.pages.sb-1a2b3c4d-Xy12zZ", "report.pages"],
  [".syncthing.report.odt.tmp", "report.odt"],
  [".main.c.swp", "main.c"],
  ["main.c.tmp", "main.c"],
  ["bitstream.h.#tmp", "bitstream.h"],
  ["index.lock", "index"],
  ["config.NEW", "config"],
  ["package.json.1234567", "package.json"],
  ["package.json.tmp-4711-abc", "package.json"],
  [".main.c.Ab12Cd", "main.c"],
  ["main.c.XXXXXXXX", "main.c"],
  ["tmp-main.c", "main.c"],
])("%s may replace %s", (name, replaced) => {
  expect(replacedName(name).names).toContain(replaced);
});

test.each([
  "sedAb12Cd",
  ".goutputstream-A1B2C3",
  "lu81723nmq2x.tmp",
  "~WRD0001.tmp",
  "1A2B3C4D",
  "tmpq1w2e3",
  "x.part",
])("%s is there for a moment only", (name) => {
  expect(replacedName(name).isTemporary).toBe(true);
});

test.each(["main.c", "README", "a", "~", "#", ".", ".profile", "report 2026.odt", "photo-1.jpeg", "sed.txt"])(
  "%s is a name as any",
  (name) => {
    expect(replacedName(name)).toEqual({ names: [], isTemporary: false });
  },
);
