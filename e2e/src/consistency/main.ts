// Runs of the simulation in a process of their own:
//     node main.ts SEED COUNT MS [MUTANT]    COUNT runs from SEED on, as many as begin within MS; of a mutant until one is caught
// One line of JSON a run; of its trace the digest.
import { createHash } from "node:crypto";
import { MUTANTS } from "./mutants.ts";
import { simulate } from "./simulate.ts";

const [first = 1, count = 1, lastsMs = Infinity] = process.argv.slice(2, 5).map(Number);
const mutant = MUTANTS.find(({ name }) => name === process.argv[5]);
mutant?.apply();
const untilMs = performance.now() + lastsMs;
for (let seed = first; seed < first + count && performance.now() < untilMs; seed++) {
  const report = await simulate({ seed, ...mutant?.settings });
  const trace = createHash("sha256").update(report.trace).digest("hex");
  process.stdout.write(`${JSON.stringify({ ...report, trace })}\n`);
  if (mutant !== undefined && report.violations.length > 0) break;
}
// What was killed in the last run still waits, for ever.
process.stdout.end(() => process.exit(0));
