// Records what has no way back in its order, when the journal has space again.
import { expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock } from "@runnel/shared";
import { Recordings } from "../../src/agent/changes/recordings.ts";

test("what comes while others wait for space is recorded behind them, and a program that asks hears of it", async () => {
  const clock = new SimulatedClock();
  const logged: string[] = [];
  const recordings = new Recordings({ clock, log: (message) => logged.push(message) });
  let hasSpace = false;
  const recorded: number[] = [];
  const record = (n: number) =>
    recordings.untilDone(async () => {
      if (!hasSpace) throw new RunnelError("NoSpace", "record", "The disk is full.");
      recorded.push(n);
    });
  const first = [record(1), record(2)];
  await clock.advance(500);
  hasSpace = true;
  const later = record(3);
  await expect(recordings.done()).rejects.toMatchObject({ kind: "NoSpace" });
  await clock.advance(400);
  expect(recorded).toEqual([]);
  await clock.advance(200);
  await Promise.all([...first, later]);
  expect(recorded).toEqual([1, 2, 3]);
  expect(logged).toHaveLength(1);
  await recordings.done();
  await record(4);
  expect(recorded).toEqual([1, 2, 3, 4]);
});
