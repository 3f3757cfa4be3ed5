// Answers to "may I switch off?": each of them, and which one counts where several would.
import { expect, test } from "@jest/globals";
import { type MayStop, mayStop } from "../../ui/views/may-stop.ts";

type Drive = Parameters<typeof mayStop>[0][number];
type Moving = Parameters<typeof mayStop>[1][number];

const FINE: Drive = {
  key: "/docs",
  state: "fine",
  unsentFiles: 0,
  unsentNames: 0,
  unsentBytes: 0,
  awaitedFiles: 0,
  pausedUntil: null,
  pausedFolders: 0,
};
const UNSENT: Drive = { ...FINE, key: "/films", unsentFiles: 2, unsentNames: 1, unsentBytes: 100 };
const OFFLINE: Drive = { ...UNSENT, state: "offline" };
const PAUSED: Drive = { ...UNSENT, pausedUntil: "until 14:00" };
const UP: Moving = { mountpoint: "/docs", direction: "up", files: 3 };

test.each<[string, Drive[], Moving[], MayStop["answer"], number]>([
  ["nothing to do", [FINE], [], "yes", 0],
  ["a download", [FINE], [{ ...UP, direction: "down" }], "yes", 0],
  ["no server and no change", [{ ...FINE, state: "offline" }], [], "yes", 0],
  ["an upload", [FINE], [UP], "sending", 3],
  ["a save that a program waits for", [{ ...FINE, awaitedFiles: 1 }], [], "sending", 1],
  ["such a save, while its server does not answer", [{ ...FINE, state: "offline", awaitedFiles: 1 }], [], "sending", 1],
  ["changes that are about to be sent", [FINE, UNSENT], [], "waiting", 3],
  ["an upload of what waits", [UNSENT], [{ ...UP, mountpoint: "/films" }], "waiting", 3],
  ["changes without a server", [FINE, OFFLINE], [], "offline", 3],
  ["an upload that began before the server was gone", [OFFLINE], [{ ...UP, mountpoint: "/films" }], "offline", 3],
  ["changes in a pause", [FINE, PAUSED], [], "paused", 3],
  ["changes in a folder's pause", [{ ...UNSENT, pausedFolders: 1 }], [], "paused", 3],
  ["a pause without a change", [{ ...FINE, pausedUntil: "until 14:00" }], [], "yes", 0],
  ["changes without a server, and an upload elsewhere", [FINE, OFFLINE], [UP], "sending", 3],
])("of %s", (_what, drives, transfers, answer, count) => {
  expect(mayStop(drives, transfers)).toMatchObject({ answer, count });
});
