// Output that a person sees of something that takes long.
import { expect, test } from "@jest/globals";
import { Output } from "../../src/cli/output.ts";
import { progressBar } from "../../src/cli/progress-bar.ts";

function shown(isJson: boolean, isTTY: boolean): string {
  let said = "";
  const stderr = { isTTY, write: (text: string) => void (said += text) };
  const output = new Output(isJson, { stdout: { write: () => undefined, isTTY }, stderr });
  output.progress(4096, 20_000);
  output.progress(8192, 20_000);
  output.endProgress();
  output.endProgress();
  return said;
}

test("a terminal has a bar, which is gone at the end", () => {
  const clear = "\r\u001B[K";
  expect(shown(false, true)).toBe(
    `${clear}[######${" ".repeat(24)}] 20 %  4,096 of 20,000${clear}[############${" ".repeat(18)}] 40 %  8,192 of 20,000${clear}`,
  );
});

test.each([
  ["with --json", true, true],
  ["where nobody looks", false, false],
])("%s there is none", (_where, isJson, isTTY) => {
  expect(shown(isJson, isTTY)).toBe("");
});

test("a bar is never beyond its ends, whatever it is told", () => {
  expect(progressBar(5, 0)).toContain("] 0 %");
  expect(progressBar(-1, 10)).toContain("] 0 %");
  expect(progressBar(11, 10)).toContain(`[${"#".repeat(30)}] 100 %`);
});
