// Runs benchmarks and prints their tables:
//
//     npm run bench                        all of them
//     npm run bench -- local --rounds 3    the named ones, with another number of rounds than 5
//     npm run bench -- --json              one JSON object on stdout instead: {machine, benchmarks: [{name, rounds, rows}]}
import { cpus, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { type Benchmark, type Row, formatTable } from "./benchmark.ts";
import { localBenchmark } from "./local.ts";

const BENCHMARKS: readonly Benchmark[] = [localBenchmark];
const ROUNDS = 5;

function usage(): string {
  const list = BENCHMARKS.map(({ name, about }) => `    ${name.padEnd(10)} ${about}`);
  return ["npm run bench [-- NAME…] [--rounds N] [--json]", "", ...list].join("\n");
}

/** Figures mean something only beside the machine they come from. */
function machine(): Record<string, unknown> {
  const processors = cpus();
  return {
    processor: processors[0]?.model.trim(),
    cores: processors.length,
    memoryBytes: totalmem(),
    kernel: release(),
    node: process.versions.node,
    date: new Date().toISOString(),
  };
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { json: { type: "boolean" }, rounds: { type: "string" }, help: { type: "boolean" } },
  });
  const rounds = values.rounds === undefined ? ROUNDS : Number(values.rounds);
  const unknown = positionals.filter((name) => !BENCHMARKS.some((benchmark) => benchmark.name === name));
  const isMisused = unknown.length > 0 || !Number.isSafeInteger(rounds) || rounds < 1;
  if (values.help || isMisused) {
    if (unknown.length > 0) console.error(`There is no benchmark named ${unknown.join(", ")}.`);
    (isMisused ? console.error : console.log)(usage());
    return isMisused ? 2 : 0;
  }
  const chosen = BENCHMARKS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results: { name: string; rounds: number; rows: Row[] }[] = [];
  for (const { name, run } of chosen) {
    const rows = await run({ rounds, say: (text) => process.stderr.isTTY && console.error(`${name}: ${text}`) });
    results.push({ name, rounds, rows });
    if (!values.json) console.log(`${formatTable(name, rows)}\n`);
  }
  if (values.json) console.log(JSON.stringify({ machine: machine(), benchmarks: results }));
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
