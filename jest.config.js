// Runs the tests over ES modules; Node strips the types, nothing is compiled but for the cache of V8.
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));

/** Expression by which tests find whether they are to do more. */
const LONG = 'process.env["RUNNEL_LONG"]';

/**
 * The tests that only `npm run test:long` runs, and those that do more in it; all others prove the same in `npm test`.
 * `isAlone`: of these those that measure time, which ask for that word; else the others.
 */
function inLongRun(isAlone) {
  const tests = globSync("{app,native,server,shared,e2e}/test/**/*.test.ts", { cwd: root });
  return tests
    .filter((path) => {
      const text = readFileSync(`${root}${path}`, "utf8");
      const isLong = path.endsWith(".long.test.ts") || text.includes(LONG);
      return isLong && text.includes(`${LONG} === "alone"`) === isAlone;
    })
    .map((path) => `<rootDir>/${path}`);
}

const isLong = Boolean(process.env.RUNNEL_LONG);

// Compiled code of the processes and threads that tests start, and of those that these start.
process.env.NODE_COMPILE_CACHE ??= `${root}.setup/compiled`;

export default {
  testEnvironment: "<rootDir>/scripts/jest-captured-output.cjs",
  testMatch: isLong ? inLongRun(process.env.RUNNEL_LONG === "alone") : ["**/test/**/*.test.ts"],
  testPathIgnorePatterns: [
    "/node_modules/",
    "/native/build/",
    "/native/prebuilds/",
    ...(isLong ? [] : ["\\.long\\.test\\.ts$"]),
  ],
  modulePathIgnorePatterns: [
    // Tools, among them whole systems.
    "<rootDir>/.setup/",
    "<rootDir>/native/build/",
    "<rootDir>/native/prebuilds/",
    "<rootDir>/installers/out/",
    "<rootDir>/demo/",
    "<rootDir>/drive/",
  ],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": "<rootDir>/scripts/jest-strip-types.cjs" },
  reporters: ["default", "<rootDir>/scripts/jest-count-reporter.cjs"],
  testTimeout: 30_000,
  testSequencer: "<rootDir>/scripts/jest-slow-first.cjs",
  // Most end-to-end tests wait: on two processors, three of them at a time.
  maxWorkers: 3,
  // Modules of a test file are never let go: a worker that has grown spends more and more on looking for garbage.
  workerIdleMemoryLimit: "250MB",
  coverageProvider: "v8",
  collectCoverageFrom: ["**/src/**/*.ts"],
};
