import { X509Certificate } from "node:crypto";
import { expect, test } from "@jest/globals";
import { SimulatedClock, SimulatedDisk, fingerprintOf } from "@runnel/shared";
import { openSecurity } from "../../src/auth/security.ts";

test("two that are the first to be invited, at the same moment, are told of the key that stays", async () => {
  const clock = new SimulatedClock();
  const disk = new SimulatedDisk({ clock, seed: 1 });
  const security = await openSecurity(disk, clock, "/data", { hostname: "files", isLate: true, warn: () => undefined });
  expect([security.identity, security.fingerprint]).toEqual([undefined, undefined]);
  const invitation = { volume: "docs", right: "write", person: "", lastsMs: 1000 } as const;
  const told = await Promise.all(
    ["one", "other"].map(async () => {
      await security.invite(invitation);
      return security.fingerprint;
    }),
  );
  await security.release();
  const again = await openSecurity(disk, clock, "/data", { hostname: "files", isLate: true, warn: () => undefined });
  const kept = fingerprintOf(new X509Certificate(again.identity?.certificate ?? ""));
  expect(told).toEqual([kept, kept]);
  await again.release();
});
