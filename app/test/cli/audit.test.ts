// The audit log as it is printed, and the times that it is asked for.
import { describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { type Entry, describeEntries, parseTime } from "../../src/cli/verbs/audit.ts";

const LOGIN: Entry = {
  n: 7,
  atMs: new Date(2026, 10, 24, 8, 5, 9).getTime(),
  who: { kind: "device", id: "01234567", name: "ada-laptop", person: "Ada", address: "192.0.2.7" },
  act: "login",
  object: "",
  result: "done",
  count: 1,
  detail: "",
};
const nobody = { id: "", name: "", person: "", address: "" };

describe("entries", () => {
  test("stand in columns, whoever they are of", () => {
    const refused: Entry = { ...LOGIN, who: { ...nobody, kind: "unauthenticated", address: "192.0.2.9" }, act: "join" };
    const start: Entry = { ...LOGIN, who: { ...nobody, kind: "server" }, act: "serverStart", object: "ws://a:1" };
    expect(describeEntries([LOGIN, { ...refused, result: "Denied", count: 12 }, start])).toEqual([
      "time                 who         act          what      result",
      "2026-11-24 08:05:09  ada-laptop  login                  done",
      "2026-11-24 08:05:09  192.0.2.9   join                   12× Denied",
      "2026-11-24 08:05:09  server      serverStart  ws://a:1  done",
    ]);
    expect(describeEntries([])).toEqual(["No entries."]);
  });

  test("fit 80 columns, and steer no terminal, whatever their names are", () => {
    const name = `\u001B[2J${"n".repeat(200)}\n`;
    const entry: Entry = { ...LOGIN, who: { ...LOGIN.who, name }, object: name, act: "volumeRemove", count: 123_456 };
    const lines = describeEntries([{ ...entry, result: "Unavailable" }, { ...entry, atMs: 1e300 }, LOGIN]);
    for (const line of lines) {
      expect(line.length).toBeLessThanOrEqual(80);
      expect(line).toMatch(/^[ -~…×]*$/);
    }
  });
});

describe("a time", () => {
  const clock = new SimulatedClock({ wallNs: 1_790_000_000_000n * 1_000_000n });

  test("is a day or a time of day here, one in UTC, or so long ago", () => {
    expect(parseTime(undefined, clock)).toBeUndefined();
    expect(parseTime("2026-11-24", clock)).toBe(new Date(2026, 10, 24).getTime());
    expect(parseTime("2026-11-24T18:30", clock)).toBe(new Date(2026, 10, 24, 18, 30).getTime());
    expect(parseTime("2026-11-24 18:30:15", clock)).toBe(new Date(2026, 10, 24, 18, 30, 15).getTime());
    expect(parseTime("2026-11-24T18:30Z", clock)).toBe(Date.UTC(2026, 10, 24, 18, 30));
    expect(parseTime("24h", clock)).toBe(1_790_000_000_000 - 24 * 3_600_000);
  });

  test("is refused otherwise", () => {
    for (const typed of ["", "yesterday", "2026-13-40", "2026-11-24T25:00", "7", "0m", "18:30", "2026"])
      expect(() => parseTime(typed, clock)).toThrow(expect.objectContaining({ kind: "Invalid" }));
  });
});
