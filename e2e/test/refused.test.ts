// Holds the table in the user guide to what comes of a change that was made without a line, in mode async, when others
// have changed something meanwhile: cell by cell, on simulated ground.
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { ELSEWHERE, HERE, endingOf } from "../src/consistency/refused.ts";

const GUIDE = new URL("../../docs/user-guide.md", import.meta.url);

/** Rows of the table whose first heading is "Here". */
function table(): string[][] {
  const lines = readFileSync(GUIDE, "utf8").split("\n");
  const from = lines.findIndex((line) => line.startsWith("| Here"));
  const to = lines.findIndex((line, index) => index > from && !line.startsWith("|"));
  return lines.slice(from, to).map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

const [heads = [], , ...rows] = table();

test("the table has all changes", () => {
  expect(heads.slice(1)).toEqual(Object.keys(ELSEWHERE));
  expect(rows.map(([here]) => here)).toEqual(Object.keys(HERE));
});

const CELLS = rows.flatMap(([here = "", ...outcomes]) =>
  outcomes.map((outcome, index) => [here, heads[index + 1] ?? "", outcome] as const),
);

describe("a change without a line", () => {
  test.each(CELLS.filter(([, , outcome]) => outcome !== ""))("%s, others %s: %s", async (name, elsewhere, outcome) => {
    const here = HERE[name];
    if (here === undefined) throw new Error(`There is no change "${name}".`);
    const { trees, problems, conflicts, unsentFiles } = await endingOf(here, elsewhere);
    const [mine = [], others] = trees;
    expect(mine).toEqual(others);
    expect(unsentFiles).toBe(0);
    expect(conflicts.length > 0).toBe(outcome === "both");
    if (outcome === "both") {
      expect(mine).toContainEqual(expect.stringMatching(/^((file|new) theirs|new\/)/));
      expect(mine).toContainEqual(expect.stringMatching(/ \((unsent|conflict) [^)]+\) mine/));
    } else {
      expect(problems.some((problem) => problem.includes(" could not be "))).toBe(outcome === "told");
      expect(here.done(mine)).toBe(outcome === "done");
    }
  });
});
