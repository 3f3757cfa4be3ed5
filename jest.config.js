/** Jest over ES modules: Node strips the types, nothing is compiled. */
export default {
  testEnvironment: "node",
  testMatch: ["**/test/**/*.test.ts"],
  testPathIgnorePatterns: ["/node_modules/", "/native/build/"],
  modulePathIgnorePatterns: ["<rootDir>/native/build/"],
  extensionsToTreatAsEsm: [".ts"],
  transform: { "\\.ts$": "<rootDir>/scripts/jest-strip-types.cjs" },
  testTimeout: 30_000,
  coverageProvider: "v8",
  collectCoverageFrom: ["**/src/**/*.ts"],
};
