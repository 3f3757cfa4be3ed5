// Repetitions are counted: the first time is said at once, the others once a minute, and few kinds are told apart.
import { beforeEach, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import type { NewEntry } from "../../src/audit/audit-entry.ts";
import { DEVICE_KINDS_MAX, REPEATED_MS, UNAUTHENTICATED_KINDS_MAX } from "../../src/audit/audit-limits.ts";
import { RepeatedEntries } from "../../src/audit/repeated-entries.ts";
import { LAPTOP, unauthenticated } from "./audit-rig.ts";

let clock: SimulatedClock;
let written: NewEntry[];
let repeated: RepeatedEntries;

beforeEach(() => {
  clock = new SimulatedClock();
  written = [];
  repeated = new RepeatedEntries(clock, (entry) => written.push(entry));
});

const denied = (address: string): NewEntry => ({ who: unauthenticated(address), act: "join", result: "Denied" });

/** Sum of the counts of what was written. */
const counted = (): number => written.reduce((sum, { count = 1 }) => sum + count, 0);

test("[F185] the same from one network within a minute is said at once, then once with its count", async () => {
  for (let time = 0; time < 100; time++) repeated.note(denied(`2001:db8:0:7::${time.toString(16)}`));
  repeated.note(denied("192.0.2.1"));
  expect(written).toHaveLength(2);
  await clock.advance(REPEATED_MS);
  expect(written.slice(2)).toEqual([{ ...denied("2001:db8:0:7::0"), count: 99 }]);
  repeated.note(denied("2001:db8:0:7::1"));
  expect(written).toHaveLength(4);
  await clock.advance(REPEATED_MS);
  expect(written).toHaveLength(4);
  expect(clock.pendingTimers).toBe(0);
});

test("[F185] of too many addresses, or of one device with too many objects, the rest is counted together", async () => {
  for (let time = 0; time < 1000; time++) repeated.note(denied(`192.0.${time >> 8}.${time & 255}`));
  for (let time = 0; time < 100; time++)
    repeated.note({ who: LAPTOP, act: "attach", object: `volume ${time}`, result: "NotFound" });
  repeated.note({ who: { ...LAPTOP, id: "another" }, act: "login", result: "done" });
  expect(written).toHaveLength(UNAUTHENTICATED_KINDS_MAX + DEVICE_KINDS_MAX + 1);
  await clock.advance(REPEATED_MS);
  const many = "From other addresses, or to other objects, too many to list.";
  expect(written.slice(-2)).toMatchObject([
    { act: "join", result: "Denied", count: 1000 - UNAUTHENTICATED_KINDS_MAX, detail: many },
    { act: "attach", result: "NotFound", count: 100 - DEVICE_KINDS_MAX, detail: many, who: { id: LAPTOP.id } },
  ]);
  expect(counted()).toBe(1101);
});

test("[F185] what was counted is said before the end", () => {
  for (let time = 0; time < 3; time++) repeated.note(denied("192.0.2.1"));
  repeated.flush();
  expect(counted()).toBe(3);
  expect(clock.pendingTimers).toBe(0);
});
