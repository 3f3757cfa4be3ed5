// Runs the tests of a bundle one after the other and writes what came of each into a file, as JSON: standard output
// through a pipe does not arrive under Wine.    node run.js RESULTS BUNDLE
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { type Block, type GatheredTest, gatheredTests } from "./jest-globals.ts";

export interface PlainResult {
  title: string;
  /** "passed", "skipped", or what was thrown. */
  outcome: string;
}

const [results = "", bundle = ""] = process.argv.slice(2);

const shownError = (error: unknown): string =>
  error instanceof Error ? `${error.stack ?? error.message}` : String(error);

/** Resolves once what a block needs for all its tests is done; rejects for each of them when it failed. */
const begun = new Map<Block, Promise<void>>();
function begin(block: Block): Promise<void> {
  const perform = async (): Promise<void> => {
    for (const step of block.beforeAll) await step();
  };
  const done = begun.get(block) ?? perform();
  begun.set(block, done);
  return done;
}

/** Rejects when the deadline passes first. */
async function within(deadlineMs: number, work: unknown): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It takes longer than ${deadlineMs} ms.`)), deadlineMs);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function outcomeOf({ blocks, body, isSkipped, deadlineMs }: GatheredTest): Promise<string> {
  if (isSkipped) return "skipped";
  const inner = blocks.toReversed();
  try {
    for (const block of blocks) await begin(block);
    try {
      for (const { before } of blocks) for (const step of before) await step();
      await within(deadlineMs, body());
    } finally {
      for (const { after } of inner) for (const step of after.toReversed()) await step();
    }
    return "passed";
  } catch (error) {
    return shownError(error);
  }
}

// A promise that a failed test leaves behind is no failure of the next, as with jest.
process.on("unhandledRejection", () => {});

const outcomes: PlainResult[] = [];
function add(title: string, outcome: string): void {
  outcomes.push({ title, outcome });
  writeFileSync(results, JSON.stringify(outcomes));
}

try {
  await import(pathToFileURL(bundle).href);
} catch (error) {
  add("it is loaded", shownError(error));
}
const tests = gatheredTests();
for (const [at, gathered] of tests.entries()) {
  const outcome = await outcomeOf(gathered);
  const next = tests[at + 1]?.blocks ?? [];
  const ended = gathered.blocks.filter((block) => begun.has(block) && !next.includes(block)).toReversed();
  let failure: string | undefined;
  for (const { afterAll } of ended)
    for (const step of afterAll.toReversed()) {
      try {
        await step();
      } catch (error) {
        failure ??= shownError(error);
      }
    }
  add(gathered.title, outcome === "passed" ? (failure ?? outcome) : outcome);
}
// Under Wine a process does not always end by itself.
process.exit(0);
