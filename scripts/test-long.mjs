// Runs the tests that `npm test` has no time for: those that measure how long others wait one after another, with the
// machine to themselves, then all the others side by side. Arguments go to jest.
import { spawnSync } from "node:child_process";

const [, , ...args] = process.argv;

function run(which, ...options) {
  const jest = ["run", "jest", "--", "--testTimeout=600000", "--passWithNoTests", ...options, ...args];
  const env = { ...process.env, RUNNEL_LONG: which };
  return spawnSync("npm", jest, { stdio: "inherit", env }).status ?? 1;
}

const codes = [run("alone", "--runInBand"), run("1")];
process.exitCode = codes.find((code) => code !== 0) ?? 0;
