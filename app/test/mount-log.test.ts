// Lines that a mount writes into agent.log.
import { expect, test } from "@jest/globals";
import { ERROR_KINDS, RunnelError } from "@runnel/shared";
import { pino } from "pino";
import { isProgramsOwn, mountLog } from "../src/agent/mount-log.ts";

function logged(message: string, error?: unknown): Record<string, unknown> {
  const lines: string[] = [];
  mountLog(pino({ base: null }, { write: (line: string) => void lines.push(line) }))(message, error);
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? "") as Record<string, unknown>;
}

test("an expected failure is one line with its time and kind, and none of its words, which may name a file", () => {
  const said = logged("fetch failed", new RunnelError("Unreachable", "fetch", "secret.txt cannot be had."));
  expect(said).toEqual({
    level: expect.any(Number),
    time: expect.any(Number),
    kind: "Unreachable",
    operation: "fetch",
    msg: "fetch failed",
  });
});

test.each([new TypeError("no such field"), new RunnelError("Invalid", "write", "has the wrong form")])(
  "a fault of our own keeps its stack: %s",
  (error) => {
    expect(logged("write failed", error)).toMatchObject({
      err: { message: error.message, stack: expect.stringContaining("mount-log.test.ts") },
    });
  },
);

test("what a program did wrong is told to the program alone", () => {
  expect(ERROR_KINDS.filter((kind) => !isProgramsOwn(kind))).toEqual([
    "Unknown",
    "Gone",
    "Revoked",
    "Corrupt",
    "Epoch",
    "Version",
    "Invalid",
    "Unreachable",
    "Unavailable",
    "Lost",
    "Io",
  ]);
});
