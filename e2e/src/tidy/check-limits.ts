// Limits: each stands in limits.ts and on the limits page of PROTOCOL.md, with the same value, and at least one test
// goes beyond it.
//
//     PROTOCOL.md    | `channels` | 1024 at once | … |
//     a test         test("[W53] [limit channels] more at once is Busy", …), by its value in limits.ts
import { type Check, type ProjectFile, type Violation, isScript, isTest, scan } from "./project.ts";
import { RULE_BOOKS } from "./check-rules.ts";
import { lineAt } from "./scan-code.ts";

const PAGE = RULE_BOOKS["W"] ?? "";
const SECTION = /^## Limits\n[^]*?(?=^## )/m;
const ROW = /^\| `(\w+)` \| ([^|]*)/;
const TITLE = /^(?:\[[^\]]+\][ ,]*)+/;
const MARK = /\[limit (\w+)\]/g;

const UNITS: Record<string, number> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, s: 1000, h: 3_600_000 };

/** Value that a cell begins with: "64 KiB a value", "1 MiB + 64 bytes", "200,000 an attachment", "24 h". */
function valueOf(cell: string): number {
  const sum = /^\d[\d,]*( [A-Za-z]+)?( \+ \d+ bytes)?/.exec(cell)?.[0] ?? "";
  return sum.split(" + ").reduce((total, term) => {
    const [digits = "", unit = ""] = term.split(" ");
    return total + Number(digits.replaceAll(",", "")) * (UNITS[unit] ?? 1);
  }, 0);
}

interface Mention {
  name: string;
  path: string;
  line: number;
}

/** Marks in the brackets that a title begins with. */
function testedLimits(files: readonly ProjectFile[]): Mention[] {
  return files
    .filter(({ path }) => isTest(path) && isScript(path))
    .flatMap((file) =>
      scan(file).literals.flatMap(({ text, line }) =>
        [...(TITLE.exec(text)?.[0] ?? "").matchAll(MARK)].map(([, name = ""]) => ({ name, path: file.path, line })),
      ),
    );
}

/** `limits`: those of limits.ts, times in milliseconds. */
export function checkLimits(limits: Readonly<Record<string, number>>): Check {
  return (files) => {
    const violations: Violation[] = [];
    const rows = new Set<string>();
    const page = files.find(({ path }) => path === PAGE)?.text ?? "";
    const section = SECTION.exec(page);
    const before = lineAt(page, section?.index ?? 0);
    for (const [index, text] of (section?.[0] ?? "").split("\n").entries()) {
      const [, name = "", cell = ""] = ROW.exec(text) ?? [];
      if (name === "") continue;
      rows.add(name);
      const value = limits[name];
      const says = value === undefined ? "is none of limits.ts" : `is ${value} in limits.ts`;
      if (value !== valueOf(cell)) violations.push({ path: PAGE, line: before + index, says: `\`${name}\` ${says}` });
    }
    const tested = testedLimits(files);
    for (const { name, path, line } of tested) {
      const isTaken = files.some(
        (file) => file.path === path && new RegExp(`\\b(LIMITS|TIMING)\\.${name}\\b`).test(file.text),
      );
      if (!isTaken) violations.push({ path, line, says: `tests the limit ${name} without its value from limits.ts` });
    }
    const covered = new Set(tested.map(({ name }) => name));
    for (const name of Object.keys(limits)) {
      if (!rows.has(name)) violations.push({ path: PAGE, says: `the limits page has no row for \`${name}\`` });
      if (!covered.has(name)) violations.push({ path: PAGE, says: `no test's title carries [limit ${name}]` });
    }
    return violations;
  };
}
