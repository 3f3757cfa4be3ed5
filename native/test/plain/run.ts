// Runs the tests of bundles one after the other and writes what came of each into a file, as JSON: standard output
// through a pipe does not arrive under Wine.    node run.js RESULTS BUNDLE…
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type GatheredTest, gatheredTests } from "./jest-globals.ts";

export interface PlainResult {
  title: string;
  /** "passed", "skipped", or what was thrown. */
  outcome: string;
}

const [results = "", ...bundles] = process.argv.slice(2);

async function outcomeOf({ before, body, after, isSkipped }: GatheredTest): Promise<string> {
  if (isSkipped) return "skipped";
  try {
    for (const step of before) await step();
    try {
      await body();
    } finally {
      for (const step of after) await step();
    }
    return "passed";
  } catch (error) {
    return error instanceof Error ? `${error.stack ?? error.message}` : String(error);
  }
}

const outcomes: PlainResult[] = [];
for (const bundle of bundles) {
  try {
    await import(pathToFileURL(bundle).href);
  } catch (error) {
    outcomes.push({ title: `load ${bundle}`, outcome: String((error as Error).stack) });
  }
}
writeFileSync(results, JSON.stringify(outcomes));
for (const gathered of gatheredTests()) {
  outcomes.push({ title: gathered.title, outcome: await outcomeOf(gathered) });
  writeFileSync(results, JSON.stringify(outcomes));
}
// Under Wine a process does not always end by itself.
process.exit(0);
