// The words of `runnel openers`, and what its agent gives.
import { expect, test } from "@jest/globals";
import { describeOpeners } from "../../src/verbs/drives/openers.ts";
import { makePlace, runnel, startFakeAgent } from "../control/processes.ts";

const NOW = new Date(2026, 10, 24, 18, 0).getTime();
const SINCE = new Date(2026, 10, 24, 10, 12).getTime();
const YESTERDAY = new Date(2026, 10, 23, 9, 5).getTime();
const desk = { name: "desk", isOwn: false, isConnected: true, sinceMs: SINCE, hasRead: false };
const own = { ...desk, name: "laptop", isOwn: true, hasRead: true };

test.each([
  ["nobody but this device", false, [own], ["Nobody else has it open."]],
  [
    "somebody who has it open",
    false,
    [own, { ...desk, hasRead: true }],
    ["desk has it open, or had it a moment ago; on a drive, since 10:12."],
  ],
  [
    "somebody who has the drive alone",
    false,
    [own, { ...desk, sinceMs: YESTERDAY }],
    ["Nobody else has it open.", "desk has it on a drive, since 2026-11-23 09:05."],
  ],
  [
    "somebody who has gone, and of whom no time is known",
    true,
    [{ ...desk, isConnected: false, sinceMs: null }],
    ["desk had it on a drive, and is not connected now."],
  ],
  ["a folder that is nobody else's", true, [own], ["Nobody else has it on a drive."]],
])("says of %s", (_who, isFolder, openers, lines) => {
  expect(describeOpeners({ isFolder, total: openers.length, openers }, NOW)).toEqual(lines);
});

test("counts those that are not named", () => {
  expect(describeOpeners({ isFolder: true, total: 130, openers: [own, desk] }, NOW).at(-1)).toBe("And 128 more.");
});

const onLinux = process.platform === "linux" ? test : test.skip;
onLinux("asks the agent: names are safe to show, and without a server it says so, and ends with 3", async () => {
  const { home, mountpoint } = makePlace();
  await startFakeAgent(home).firstLine;
  await runnel(home, "mount", "ws://127.0.0.1:1/docs", mountpoint);
  const { code, stdout } = await runnel(home, "openers", mountpoint, "--json");
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ mountpoint, path: "", isFolder: true, total: 3, openers: [{}, {}] });
  const shown = await runnel(home, "openers", mountpoint);
  expect(shown.stdout).toMatch(/^desk.* has it on a drive\.\nAnd 1 more\.\n$/);
  expect(shown.stdout).not.toContain("\u0007");
  await runnel(home, "unmount", mountpoint);
  await runnel(home, "mount", "ws://127.0.0.1:1/offline", mountpoint);
  expect(await runnel(home, "openers", mountpoint)).toEqual({
    code: 3,
    stdout: "",
    stderr: "The server cannot be reached.\n",
  });
});
