// Counts of logins of an address that may fail.
import { expect, test } from "@jest/globals";
import { FailedTriesByAddress } from "../../src/admission/failed-tries.ts";
import type { Clock } from "../../src/host/clock.ts";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { LIMITS, TIMING } from "../../src/limits.ts";

const loginsOf = (clock: Clock): FailedTriesByAddress =>
  new FailedTriesByAddress(clock, { atOnce: LIMITS.failedLogins, refillMs: TIMING.loginRefillMs });

function fail(logins: FailedTriesByAddress, address: string, times: number): void {
  for (let time = 0; time < times; time++) logins.failed(address);
}

test("[W74] an address may fail ten times at once, then once for each six seconds", async () => {
  const clock = new SimulatedClock();
  const logins = loginsOf(clock);
  fail(logins, "192.0.2.1", LIMITS.failedLogins - 1);
  expect(logins.waitMs("192.0.2.1")).toBe(0);
  logins.failed("192.0.2.1");
  expect(logins.waitMs("192.0.2.1")).toBe(TIMING.loginRefillMs);
  expect(logins.waitMs("192.0.2.2")).toBe(0);
  await clock.advance(TIMING.loginRefillMs);
  expect(logins.waitMs("192.0.2.1")).toBe(0);
  logins.failed("192.0.2.1");
  expect(logins.waitMs("192.0.2.1")).toBe(TIMING.loginRefillMs);
  await clock.advance(LIMITS.failedLogins * TIMING.loginRefillMs);
  fail(logins, "192.0.2.1", LIMITS.failedLogins - 1);
  expect(logins.waitMs("192.0.2.1")).toBe(0);
});

test("[W74] a /64 of IPv6 counts as one, IPv4 as it is", () => {
  const logins = loginsOf(new SimulatedClock());
  fail(logins, "2001:db8:1:2::1", LIMITS.failedLogins);
  for (const same of ["2001:db8:1:2::2", "2001:db8:1:2:ffff::", "2001:db8:1:2:3:4:5:6"])
    expect(logins.waitMs(same)).toBeGreaterThan(0);
  for (const other of ["2001:db8:1:3::1", "2001:db8::1", "::1"]) expect(logins.waitMs(other)).toBe(0);
  fail(logins, "::ffff:192.0.2.1", LIMITS.failedLogins);
  expect(logins.waitMs("::ffff:192.0.2.2")).toBe(0);
});

test("[W74] many addresses cost bounded memory, and the latest are remembered", () => {
  const logins = loginsOf(new SimulatedClock());
  for (let number = 0; number < 20_000; number++) fail(logins, `10.${number >> 8}.${number & 255}.1`, 10);
  expect(logins.waitMs("10.78.31.1")).toBeGreaterThan(0);
  expect(logins.waitMs("10.0.0.1")).toBe(0);
});
