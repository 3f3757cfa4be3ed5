// The end of a log, which `runnel doctor` and the window show.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { logTail } from "../../../src/agent/control/host/log-tail.ts";
import { makeFolder } from "../processes.ts";

test("the end of a log has whole lines, however long the log is", async () => {
  const path = join(makeFolder(), "agent.log");
  expect(await logTail(path, 3)).toEqual([]);
  const lines = Array.from({ length: 20_000 }, (_, at) => `{"line":${at},"msg":"something happened"}`);
  writeFileSync(path, `${lines.join("\n")}\n`);
  expect(await logTail(path, 3)).toEqual(lines.slice(-3));
  const all = await logTail(path, 100_000);
  expect(all).toEqual(lines.slice(-all.length));
});
