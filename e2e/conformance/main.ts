// Runs outside test suites on a drive and prints a table:
//
//     npm run conformance -- DIR_OF_SUITES                     each run-NAME.sh of the folder
//     npm run conformance -- DIR_OF_SUITES fsx gostd           the named ones
//     npm run conformance -- DIR_OF_SUITES --baseline          what fails on libfuse's passthrough_hp too is no failure
//     npm run conformance -- DIR_OF_SUITES --deadline 600      seconds for each, in place of 900
//
// Ends with 1 when a suite failed, with 2 when it was called wrongly.
import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { isGood, tableHead, tableLines } from "./report.ts";
import { runSuites } from "./run-suites.ts";
import { findSuites } from "./suite.ts";

const DEADLINE_S = 900;
const USAGE = "npm run conformance -- DIR_OF_SUITES [NAME…] [--baseline] [--deadline SECONDS]";
/** Set in the process that has a name space of its own. */
const IN_NAMESPACE = "RUNNEL_OWN_MOUNTS";

/**
 * Mounts are made in a name space of their own: nobody else's indexer or `df` meets a drive under test, and the last
 * process takes the mounts with it. An ordinary user cannot have one, and does without.
 */
function rerunInNamespace(): number | undefined {
  if (process.env[IN_NAMESPACE] !== undefined || process.getuid?.() !== 0) return undefined;
  const args = ["--mount", "--propagation", "private", process.execPath, fileURLToPath(import.meta.url)];
  const env = { ...process.env, [IN_NAMESPACE]: "1" };
  return spawnSync("unshare", [...args, ...process.argv.slice(2)], { stdio: "inherit", env }).status ?? 1;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { baseline: { type: "boolean" }, deadline: { type: "string" }, help: { type: "boolean" } },
  });
  const seconds = Number(values.deadline ?? DEADLINE_S);
  const [folder, ...names] = positionals;
  if (values.help || folder === undefined || !(seconds > 0)) {
    (values.help ? console.log : console.error)(USAGE);
    return values.help ? 0 : 2;
  }
  const all = findSuites(resolve(folder));
  const unknown = names.filter((name) => !all.some((suite) => suite.name === name));
  if (unknown.length > 0) {
    console.error(
      `${folder} has no suite named ${unknown.join(", ")}. It has ${all.map(({ name }) => name).join(", ")}.`,
    );
    return 2;
  }
  const chosen = all.filter(({ name }) => names.length === 0 || names.includes(name));
  let isAllGood = true;
  console.log(tableHead());
  for await (const report of runSuites(chosen, { hasBaseline: values.baseline ?? false, deadlineMs: seconds * 1000 })) {
    for (const line of tableLines(report)) console.log(line);
    isAllGood &&= isGood(report);
  }
  return isAllGood ? 0 : 1;
}

try {
  process.exitCode = rerunInNamespace() ?? (await main());
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
