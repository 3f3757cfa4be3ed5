import { expect, test } from "@jest/globals";
import { formatAgo, formatBytes, formatDuration, formatPercent, formatRate } from "../../ui/format.ts";

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [1023, "1,023 bytes"],
  [1024, "1 KB"],
  [1234, "1.21 KB"],
  [48 * 1024 * 1024, "48 MB"],
  [1023.9 * 1024, "1 MB"],
  [3.5 * 1024 ** 4, "3.5 TB"],
  [-5, "0 bytes"],
])("%i bytes are %s", (bytes, shown) => expect(formatBytes(bytes)).toBe(shown));

test("rates and shares have their signs", () => {
  expect(formatRate(2048)).toBe("2 KB/s");
  expect([0.583, 0.998, 1].map(formatPercent)).toEqual(["58%", "99%", "100%"]);
});

test.each([
  [0, "1 second"],
  [94_000, "94 seconds"],
  [5 * 60_000, "5 minutes"],
  [3 * 3_600_000, "3 hours"],
])("%i ms are left as %s", (ms, shown) => expect(formatDuration(ms)).toBe(shown));

test.each([
  [10_000, "now"],
  [9 * 60_000, "9 minutes ago"],
  [5 * 3_600_000, "5 hours ago"],
  [26 * 3_600_000, "yesterday"],
])("%i ms ago is %s", (sinceMs, shown) =>
  expect(formatAgo(1_000_000_000_000 - sinceMs, 1_000_000_000_000)).toBe(shown),
);
