// The one sentence about all drives: the worst state wins, and each says what to do.
import { describe, expect, test } from "@jest/globals";
import { formatLeft } from "../../src/agent/view/format-left.ts";
import {
  type DriveFacts,
  type HeadFacts,
  headOf,
  type HeadAct,
  VIEW_STATES,
  type ViewState,
} from "../../src/agent/view/head.ts";

const DRIVE: DriveFacts = {
  url: "ws://h/docs",
  mountpoint: "/mnt/docs",
  state: "connected",
  isReadOnly: false,
  refusal: null,
  pause: null,
  pausedFolders: [],
  unsentFiles: 0,
  unsentNames: 0,
  conflicts: [],
  problems: [],
};
const UPLOAD = { direction: "up" as const, files: 3, leftMs: 120_000, waitsFor: [] };

/** Facts that lead to each state. */
const FACTS: Record<ViewState, Partial<HeadFacts>> = {
  fine: { drives: [DRIVE] },
  working: { drives: [DRIVE], transfers: [UPLOAD] },
  paused: { drives: [{ ...DRIVE, pause: { until: "until 14:00" } }] },
  offline: { drives: [{ ...DRIVE, state: "offline", unsentFiles: 4 }] },
  attention: { drives: [{ ...DRIVE, conflicts: [{ path: "report.docx" }] }] },
};

function head(...facts: readonly Partial<HeadFacts>[]): ReturnType<typeof headOf> {
  return headOf({
    drives: facts.flatMap(({ drives = [] }) => drives),
    lost: facts.flatMap(({ lost = [] }) => lost),
    transfers: facts.flatMap(({ transfers = [] }) => transfers),
  });
}

describe("the head", () => {
  test.each<[string, Partial<HeadFacts>, string, string | null, (HeadAct | null)?]>([
    ["no drive", {}, "No drives are mounted.", "Map one: runnel mount ws://HOST:PORT/VOLUME MOUNTPOINT", "add"],
    ["nothing to do", FACTS.fine, "Everything is saved on the server.", null],
    [
      "a drive to be read only",
      { drives: [{ ...DRIVE, isReadOnly: true }] },
      "Connected. The drives can only be read.",
      null,
    ],
    ["an upload", FACTS.working, "Uploading 3 files, about 2 minutes left.", null],
    [
      "an upload that waits",
      { drives: [DRIVE], transfers: [{ ...UPLOAD, files: 1, leftMs: null, waitsFor: ["ada-laptop"] }] },
      "Uploading 1 file. Waiting for ada-laptop.",
      null,
    ],
    [
      "both directions",
      { drives: [DRIVE], transfers: [UPLOAD, { ...UPLOAD, direction: "down", files: 1, leftMs: 1000 }] },
      "Uploading 3 files, downloading 1 file, about 2 minutes left.",
      null,
    ],
    ["a save that waits", { drives: [{ ...DRIVE, unsentFiles: 1 }] }, "1 change waits and will be sent.", null],
    ["a name that waits", { drives: [{ ...DRIVE, unsentNames: 1 }] }, "1 change waits and will be sent.", null],
    [
      "a list that is read",
      { drives: [{ ...DRIVE, state: "listing" }] },
      "Connected, reading the folder list of /mnt/docs.",
      null,
    ],
    [
      "a folder's pause",
      {
        drives: [
          { ...DRIVE, unsentFiles: 2, pausedFolders: [{ path: "Films", until: "until 14:00" }] },
          { ...DRIVE, mountpoint: "/other", unsentFiles: 1 },
        ],
      },
      `Paused until 14:00: ${DRIVE.mountpoint}/Films. 2 changes wait.`,
      "Resume it to go on: runnel resume",
      "resume",
    ],
    ["a pause", FACTS.paused, "Paused until 14:00.", "Resume it to go on: runnel resume", "resume"],
    [
      "no server",
      FACTS.offline,
      "Offline. 4 changes wait and will be sent.",
      "It goes on by itself once the server answers.",
    ],
    [
      "no server for one of two",
      { drives: [DRIVE, { ...DRIVE, mountpoint: "/b", state: "offline" }] },
      "Offline: /b. Files in the cache can be read.",
      "It goes on by itself once the server answers.",
    ],
    [
      "a conflict",
      FACTS.attention,
      "report.docx was changed in two places. Both are kept.",
      "Compare the two: runnel status names the other.",
      "conflicts",
    ],
    [
      "a server that refuses",
      { drives: [{ ...DRIVE, state: "offline", refusal: "This device was revoked." }] },
      "/mnt/docs: This device was revoked.",
      "See more: runnel status",
      "drives",
    ],
    [
      "a drive that was lost",
      { lost: [{ url: "ws://h/docs", mountpoint: "/mnt/docs" }] },
      "The agent ended without unmounting /mnt/docs.",
      "Map it again: runnel mount ws://h/docs /mnt/docs",
      "drives",
    ],
    [
      "two conflicts",
      { drives: [{ ...DRIVE, conflicts: [{ path: "a" }, { path: "b" }] }] },
      "a was changed in two places. Both are kept. And 1 more.",
      "See more: runnel status",
      "conflicts",
    ],
    [
      "several",
      { drives: [{ ...DRIVE, problems: ["The disk is full.", "It is damaged."] }] },
      "The disk is full. And 1 more.",
      "See more: runnel status",
      "drives",
    ],
  ])(
    "says of %s what it is and what to do, at a terminal and in a window",
    (_what, facts, sentence, next, act = null) => {
      expect(head(facts)).toMatchObject({ sentence, next, act });
      // A window has something else than a command.
      expect(next?.includes("runnel") ?? false).toBe(act !== null);
    },
  );

  test.each(VIEW_STATES.flatMap((one) => VIEW_STATES.map((other) => [one, other] as const)))(
    "of a drive that is %s and one that is %s has the worse state",
    (one, other) => {
      const worse = Math.max(VIEW_STATES.indexOf(one), VIEW_STATES.indexOf(other));
      expect(head(FACTS[one], FACTS[other]).state).toBe(VIEW_STATES[worse]);
    },
  );
});

test.each([
  [0, "a few seconds"],
  [12_000, "about 10 seconds"],
  [55_000, "about 1 minute"],
  [150_000, "about 3 minutes"],
  [3_300_000, "about 1 hour"],
  [5 * 3_600_000, "about 5 hours"],
])("%d ms are %s", (leftMs, words) => {
  expect(formatLeft(leftMs)).toBe(words);
});
