import { expect, test } from "@jest/globals";
import { parseMoment } from "../../src/cli/moment.ts";

const NOW = new Date(2026, 10, 26, 12, 30).getTime();

test("a moment is the next one of that time, or one of a day", () => {
  expect(parseMoment("12:31", NOW)).toBe(NOW + 60_000);
  expect(parseMoment("12:30", NOW)).toBe(new Date(2026, 10, 27, 12, 30).getTime());
  expect(parseMoment("8:05", NOW)).toBe(new Date(2026, 10, 27, 8, 5).getTime());
  expect(parseMoment("2026-12-24T18:00", NOW)).toBe(new Date(2026, 11, 24, 18, 0).getTime());
  expect(parseMoment("2026-12-24", NOW)).toBe(new Date(2026, 11, 24).getTime());
  for (const typed of ["", "24:00", "8:60", "8", "tomorrow", "2026-13-01", "8:00 ", "-1:00"])
    expect(() => parseMoment(typed, NOW)).toThrow(expect.objectContaining({ kind: "Invalid" }));
});
