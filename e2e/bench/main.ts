// Runs benchmarks and prints their tables:
//
//     npm run bench                        all of them
//     npm run bench -- local --rounds 3    the named ones, with another number of rounds than 5
//     npm run bench -- wan --only cable --only drive --size small    parts of a benchmark that has some, and less of it
//     npm run bench -- --json              one JSON object: {machine, benchmarks: [{name, rounds, rows, …}]}
import { cpus, release, totalmem } from "node:os";
import { parseArgs } from "node:util";
import type { BenchContext, Benchmark } from "./benchmark.ts";
import { c2cfsBenchmark } from "./c2cfs.ts";
import { changesBenchmark } from "./changes.ts";
import { idleBenchmark } from "./idle.ts";
import { localBenchmark } from "./local.ts";
import { mailBenchmark } from "./mail.ts";
import { manyBenchmark } from "./many.ts";
import { nativeBenchmark } from "./native/native.ts";
import { officeBenchmark } from "./office.ts";
import { objectsBenchmark } from "./objects.ts";
import { pagesBenchmark } from "./pages.ts";
import { stickBenchmark } from "./stick.ts";
import { LINES, wanBenchmark } from "./wan/wan.ts";
import { SYSTEMS } from "./wan/systems.ts";

const BENCHMARKS: readonly Benchmark[] = [
  nativeBenchmark,
  localBenchmark,
  changesBenchmark,
  manyBenchmark,
  idleBenchmark,
  officeBenchmark,
  c2cfsBenchmark,
  pagesBenchmark,
  objectsBenchmark,
  mailBenchmark,
  wanBenchmark,
  stickBenchmark,
];
const ROUNDS = 5;
const SIZES: readonly BenchContext["size"][] = ["full", "small", "tiny"];
const PARTS = [...LINES, ...SYSTEMS].map(({ name }) => name);

function usage(): string {
  const list = BENCHMARKS.map(({ name, about }) => `    ${name.padEnd(10)} ${about}`);
  const options = `[--rounds N] [--only ${PARTS.join("|")}]… [--size ${SIZES.join("|")}] [--json]`;
  return [`npm run bench [-- NAME…] ${options}`, "", ...list].join("\n");
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
    options: {
      json: { type: "boolean" },
      rounds: { type: "string" },
      only: { type: "string", multiple: true },
      size: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const rounds = values.rounds === undefined ? ROUNDS : Number(values.rounds);
  const unknown = positionals.filter((name) => !BENCHMARKS.some((benchmark) => benchmark.name === name));
  const only = values.only ?? [];
  const size = SIZES.find((one) => one === (values.size ?? "full"));
  const isUnknown = size === undefined || only.some((name) => !PARTS.includes(name));
  const isMisused = isUnknown || unknown.length > 0 || !Number.isSafeInteger(rounds) || rounds < 1;
  if (values.help || isMisused) {
    if (unknown.length > 0) console.error(`There is no benchmark named ${unknown.join(", ")}.`);
    (isMisused ? console.error : console.log)(usage());
    return isMisused ? 2 : 0;
  }
  const chosen = BENCHMARKS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results: object[] = [];
  for (const { name, run } of chosen) {
    const say = (text: string): void => console.error(`${name}: ${text}`);
    const { rows, figures, table } = await run({
      rounds,
      only,
      size,
      say: process.stderr.isTTY ? say : () => undefined,
    });
    results.push({ name, rounds, rows, ...figures });
    if (!values.json) console.log(`${table}\n`);
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
