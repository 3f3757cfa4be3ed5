// Numbers of this instance's operations that the server is told to forget.
import { describe, expect, test } from "@jest/globals";
import { LIMITS } from "@runnel/shared";
import { receivedOf } from "../../src/agent/wire/received.ts";

const LAG = LIMITS.outstandingOperations / 4;

describe("answers that have come", () => {
  test("are all, or all before the first that has not", () => {
    expect(receivedOf(0, new Set())).toEqual({ received: 0 });
    // A journal's first number is 0.
    expect(receivedOf(0, new Set([0]))).toEqual({ received: 0 });
    expect(receivedOf(3, new Set([2, 0]))).toEqual({ received: 0 });
    expect(receivedOf(7, new Set())).toEqual({ received: 7 });
    expect(receivedOf(7, new Set([6, 4]))).toEqual({ received: 3 });
    expect(receivedOf(LAG + 3, new Set([4]))).toEqual({ received: 3 });
  });

  test("are all but a few that lag far behind", () => {
    expect(receivedOf(LAG + 4, new Set([4]))).toEqual({ received: LAG + 4, but: [[4, 4]] });
    expect(receivedOf(9 * LAG, new Set([9 * LAG, 4, 9 * LAG - 2, 5, 7]))).toEqual({
      received: 9 * LAG - 3,
      but: [
        [4, 5],
        [7, 7],
      ],
    });
  });

  test("are told as far as the laggards can be named", () => {
    const lagging = Array.from({ length: LIMITS.notReceived + 1 }, (_, index) => 2 * index + 1);
    const { received, but } = receivedOf(9 * LAG, new Set(lagging));
    expect(received).toBe(2 * LIMITS.notReceived);
    expect(but).toEqual(lagging.slice(0, -1).map((n) => [n, n]));
  });
});
