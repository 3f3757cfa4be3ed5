// Every FUSE operation under every condition: nothing hangs, and each return means what the table says.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CONDITIONS, Matrix, allCases, ownProbes } from "../src/deadlines/index.ts";

describe("every operation", () => {
  let matrix: Matrix;

  beforeAll(async () => {
    matrix = new Matrix(allCases(CONDITIONS, await ownProbes()));
    await matrix.start();
  }, 120_000);

  afterAll(() => matrix.cleanup(), 60_000);

  test.each(CONDITIONS.map((condition) => [condition.name, condition] as const))(
    "under a %s answers or fails in time, as the table says",
    async (_name, condition) => {
      expect(await matrix.run(condition)).toEqual([]);
    },
    180_000,
  );
});
