// How tests run: over ES modules; Node strips the types, nothing is compiled but for the cache of V8.
import { fileURLToPath } from "node:url";

// Not part of an ordinary run; `npm run test:long` sets RUNNEL_LONG and takes both.
const long = process.env.RUNNEL_LONG ? [] : ["\\.long\\.test\\.ts$"];

// Of processes and threads that tests start, and theirs.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL(".setup/compiled", import.meta.url));

export default {
  testEnvironment: "<rootDir>/scripts/jest-told.cjs",
  testMatch: ["**/test/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/native/build/", "/native/prebuilds/", ...long],
  modulePathIgnorePatterns: [
    "<rootDir>/native/build/",
    "<rootDir>/native/prebuilds/",
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
  coverageProvider: "v8",
  collectCoverageFrom: ["**/src/**/*.ts"],
};
