// The list of devices as it is printed, and how long invites may last.
import { expect, test } from "@jest/globals";
import { parseDuration } from "../../src/cli/duration.ts";
import { type Device, describeDevices } from "../../src/cli/verbs/devices.ts";
import { describeInvites } from "../../src/cli/verbs/invites.ts";

const LAPTOP: Device = {
  id: "01234567",
  name: "ada-laptop",
  person: "Ada",
  volumes: [
    { name: "docs", isReadOnly: false },
    { name: "photos", isReadOnly: true },
  ],
  createdMs: 1,
  revokedMs: null,
  seenMs: null,
  isConnected: true,
};

test("devices stand in columns of words", () => {
  const others = [
    { ...LAPTOP, name: "pc", id: "89abcdef", person: "", volumes: [], isConnected: false },
    { ...LAPTOP, name: "desk", isConnected: false, seenMs: new Date(2026, 10, 24, 18, 30).getTime() },
    { ...LAPTOP, name: "old", revokedMs: 2 },
  ];
  expect(describeDevices([LAPTOP, ...others])).toEqual([
    "device      id        for  volumes              state",
    "ada-laptop  01234567  Ada  docs, photos (read)  connected",
    "pc          89abcdef                            away",
    "desk        01234567  Ada  docs, photos (read)  away since 2026-11-24 18:30",
    "old         01234567  Ada  docs, photos (read)  revoked",
  ]);
  expect(describeDevices([])).toEqual(["No devices yet. Let one in: runnel invite VOLUME"]);
});

test("invites say what became of them", () => {
  const invite = {
    id: "1f0c77aa",
    volume: "docs",
    isReadOnly: true,
    person: "Ada",
    untilMs: 0,
    hasRunOut: false,
    usedBy: null,
  };
  const until = new Date(0).toLocaleString();
  const others = [
    { ...invite, isReadOnly: false, person: "", usedBy: "ada-laptop" },
    { ...invite, hasRunOut: true },
  ];
  expect(describeInvites([invite, ...others])).toEqual([
    "invite    volume       for  state",
    `1f0c77aa  docs (read)  Ada  works until ${until}`,
    "1f0c77aa  docs              used by ada-laptop",
    `1f0c77aa  docs (read)  Ada  ran out ${until}`,
  ]);
  expect(describeInvites([])).toEqual(["No invites. Make one: runnel invite VOLUME"]);
});

test("a duration is minutes, hours or days, up to a year", () => {
  expect(["1m", "24h", "7d", "366d"].map(parseDuration)).toEqual([60_000, 86_400_000, 604_800_000, 31_622_400_000]);
  for (const typed of ["", "0m", "7", "d", "-1d", "1.5h", "367d", "8785h", "7 d", "1w", "99999999m"])
    expect(() => parseDuration(typed)).toThrow(expect.objectContaining({ kind: "Invalid" }));
});
