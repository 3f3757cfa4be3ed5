// Words of the console for the audit log: each act and each result has some, and none is left that no entry has. The
// page offers the acts that have words. The command line's page names each act.
import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";
import { WORDS } from "../../console/words/en.ts";
import { AUDIT_ACTS, AUDIT_RESULTS } from "../../src/audit/audit-entry.ts";

function wordsOf(prefix: string): string[] {
  return Object.keys(WORDS)
    .filter((id) => id.startsWith(prefix))
    .map((id) => id.slice(prefix.length))
    .toSorted();
}

test("each act and each result of the audit log has words, and no other", () => {
  expect(wordsOf("act_")).toEqual(AUDIT_ACTS.toSorted());
  expect(wordsOf("result_")).toEqual(AUDIT_RESULTS.toSorted());
  for (const prefix of ["act_", "result_"]) {
    const all = Object.entries(WORDS).filter(([id]) => id.startsWith(prefix));
    expect(new Set(all.map(([, words]) => words)).size).toBe(all.length);
  }
});

test("the page about the command line names each act", () => {
  const page = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");
  expect(AUDIT_ACTS.filter((act) => !page.includes(`\`${act}\``))).toEqual([]);
});
