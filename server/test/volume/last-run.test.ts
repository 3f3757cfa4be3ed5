import { describe, expect, test } from "@jest/globals";
import { EMPTY_RECIPE } from "@runnel/shared";
import { LastRun } from "../../src/volume/last-run.ts";

const RUN = { bytes: new Uint8Array(1000), recipe: EMPTY_RECIPE };
const encoded = (byte: number, length = 20): Uint8Array => new Uint8Array(length).fill(byte);

describe("the last run of a write", () => {
  test("is known again by what came and its length, when the memory it came in is another's by then", () => {
    const last = new LastRun();
    const came = encoded(1);
    last.keep("zstd", came, RUN);
    came.fill(9);
    expect(last.find("zstd", encoded(1), 1000)).toMatchObject(RUN);
    expect(last.find("zstd", encoded(9), 1000)).toBeUndefined();
    expect(last.find("zstd", encoded(1), 999)).toBeUndefined();
    expect(last.find("raw", encoded(1), 1000)).toBeUndefined();
  });

  test("is not kept when it is large, raw or a delta: those do not repeat", () => {
    const last = new LastRun();
    last.keep("zstd", encoded(1, 5000), RUN);
    last.keep("raw", encoded(2), RUN);
    last.keep([{ node: 1, seq: 2 }, 0, 1], encoded(3), RUN);
    expect(last.find("zstd", encoded(1, 5000), 1000)).toBeUndefined();
    for (const byte of [2, 3]) expect(last.find("zstd", encoded(byte), 1000)).toBeUndefined();
  });
});
