import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { CrashRig, type Stop } from "../src/crash/index.ts";
import { isAlive, waitFor } from "../src/harness/index.ts";
let rig: CrashRig;
beforeEach(async () => {
  rig = await CrashRig.start("async");
}, 120_000);
afterEach(() => rig.cleanup(), 60_000);
const STRIDE = Number(process.env["STRIDE"] ?? 101);
test("async agent", async () => {
  const stopAt = (round: number): Stop => ({ at: 1 + round * STRIDE, isTorn: round % 3 === 0 });
  await rig.device.killAgent();
  await rig.mount(stopAt(0));
  await rig.settle();
  const found: string[] = [];
  for (let round = 0; ; round++) {
    const work = rig.work(`round-${round}`);
    rig.stop.arm();
    const performed = rig.perform(work);
    let isPerformed = false;
    void performed.then(() => (isPerformed = true));
    const ended = () => !isAlive(rig.device.agentPid());
    await waitFor(() => isPerformed || ended(), 300_000, "the kill");
    const wasCut = ended();
    rig.stop.disarm();
    if (!wasCut) await rig.device.killAgent();
    await rig.mount(stopAt(round + 1));
    await performed;
    const trace = rig.stop.takeTrace();
    console.log(round, wasCut, trace.at(-1), rig.cutShort(work));
    try {
      await rig.settle();
      await rig.check(work);
    } catch (error) {
      found.push(`Stopped before ${trace.at(-1)}: ${(error as Error).message}`);
      console.log(found.at(-1));
    }
    if (!wasCut) break;
  }
  expect(found).toEqual([]);
}, 3_600_000);
