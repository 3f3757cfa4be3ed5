import { describe, expect, test } from "@jest/globals";
import { RealClock } from "@runnel/shared";
import { runProgram } from "../../../../src/agent/control/host/posix/run-program.ts";

const clock = new RealClock();
const deadlineMs = 60_000;

describe("a program of the system", () => {
  test("tells its code, and its text where that is wanted", async () => {
    const script = ["sh", "-c", "echo text; exit 7"];
    expect(await runProgram(clock, script, { deadlineMs })).toEqual({ code: 7, text: "" });
    expect(await runProgram(clock, script, { deadlineMs, textBytesMax: 5 })).toEqual({ code: 7, text: "text\n" });
    expect(await runProgram(clock, script, { deadlineMs, textBytesMax: 4 })).toEqual({ code: undefined, text: "" });
  });

  test("is no answer when it cannot run, is ended, or ends at no time", async () => {
    const none = { code: undefined, text: "" };
    expect(await runProgram(clock, ["/nowhere/program"], { deadlineMs, textBytesMax: 1 })).toEqual(none);
    expect(await runProgram(clock, ["sh", "-c", "kill -9 $$"], { deadlineMs })).toEqual(none);
    expect(await runProgram(clock, ["sleep", "1000"], { deadlineMs: 0 })).toEqual(none);
    expect(await runProgram(clock, ["sh", "-c", "sleep 5 & exit 0"], { deadlineMs: 0, textBytesMax: 1 })).toEqual(none);
  });
});
