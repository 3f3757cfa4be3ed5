// Output that a person sees of something that takes long.
import { expect, test } from "@jest/globals";
import { Output } from "../../src/cli/output.ts";
import { progressBar } from "../../src/cli/progress-bar.ts";
import { describeView } from "../../src/cli/view-screen.ts";

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

test("a screen takes the place of the one before, on a terminal only, and no name steers it", () => {
  let said = "";
  const stdout = { isTTY: true, columns: 20, write: (text: string | Uint8Array) => void (said += text.toString()) };
  const output = new Output(false, { stdout, stderr: { write: () => undefined } });
  expect(output.screen(["one", "name\n\u001b[2Jthat is longer than the line"])).toBe(true);
  expect(output.screen(["two"])).toBe(true);
  expect(said).toBe("\r\u001b[Jone\nname\\x0a\\x1b[2Jthat\n\u001b[2A\r\u001b[Jtwo\n");
  expect(new Output(true, { stdout, stderr: stdout }).screen(["x"])).toBe(false);
  expect(new Output(false, { stdout: { write: () => undefined }, stderr: stdout }).screen(["x"])).toBe(false);
});

test("a view is shown as its sentence, its drives and what moves, with what is left out", () => {
  const transfer = {
    key: "1",
    mountpoint: "/mnt/docs",
    direction: "up",
    path: "Photos/a.jpg",
    files: 1,
    totalBytes: 4096,
    doneBytes: 2048,
    reusedBytes: 1024,
    bytesPerSecond: 1024,
    leftMs: 120_000,
    waitsFor: ["ada-laptop"],
  };
  const drive = { key: "/mnt/docs", url: "ws://h/docs", sentence: "Connected." };
  expect(
    describeView({
      head: { state: "working", sentence: "Uploading 1 file.", next: null, act: null },
      lists: { drives: [drive], transfers: Array.from({ length: 12 }, (_, id) => ({ ...transfer, key: `${id}` })) },
      omitted: { transfers: 5 },
    }).slice(0, 6),
  ).toEqual([
    "Uploading 1 file.",
    "",
    "/mnt/docs  ws://h/docs  Connected.",
    "up    Photos/a.jpg",
    `      [${"#".repeat(15)}${" ".repeat(15)}] 50 %`,
    "      2 KiB of 4 KiB, 1 KiB/s, about 2 minutes left, 50 % reused, waits for ada-laptop",
  ]);
});
