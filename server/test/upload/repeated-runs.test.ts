import { describe, expect, test } from "@jest/globals";
import { EMPTY_RECIPE } from "@runnel/shared";
import { RepeatedRuns } from "../../src/upload/repeated-runs.ts";

const RUN = { bytes: new Uint8Array(1000), recipe: EMPTY_RECIPE };
const encoded = (byte: number, length = 20): Uint8Array => new Uint8Array(length).fill(byte);

describe("a run that came lately", () => {
  test("is known again by what came, its length and how it is cut, when the memory it came in is another's by then", () => {
    const runs = new RepeatedRuns();
    const came = encoded(1);
    runs.keep("zstd", came, 0, RUN);
    came.fill(9);
    expect(runs.find("zstd", encoded(1), 1000, 0)).toMatchObject(RUN);
    expect(runs.find("zstd", encoded(9), 1000, 0)).toBeUndefined();
    expect(runs.find("zstd", encoded(1), 999, 0)).toBeUndefined();
    expect(runs.find("zstd", encoded(1), 1000, 1)).toBeUndefined();
    expect(runs.find("raw", encoded(1), 1000, 0)).toBeUndefined();
  });

  test("is not kept when it is large, raw or a delta: those do not repeat", () => {
    const runs = new RepeatedRuns();
    runs.keep("zstd", encoded(1, 5000), 0, RUN);
    runs.keep("raw", encoded(2), 0, RUN);
    runs.keep([{ node: 1, seq: 2 }, 0, 1], encoded(3), 0, RUN);
    expect(runs.find("zstd", encoded(1, 5000), 1000, 0)).toBeUndefined();
    for (const byte of [2, 3]) expect(runs.find("zstd", encoded(byte), 1000, 0)).toBeUndefined();
  });

  test("is one of eight, whatever the number of writes: those that are not used go", () => {
    const runs = new RepeatedRuns();
    for (let byte = 0; byte < 8; byte++) runs.keep("zstd", encoded(byte), 0, RUN);
    expect(runs.find("zstd", encoded(0), 1000, 0)).toBeDefined();
    runs.keep("zstd", encoded(8), 0, RUN);
    expect(runs.find("zstd", encoded(0), 1000, 0)).toBeDefined();
    expect(runs.find("zstd", encoded(1), 1000, 0)).toBeUndefined();
  });
});
