import { setTimeout as real } from "node:timers/promises";
import { RealClock } from "../../src/host/real-clock.ts";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { clockContract } from "../contracts/clock-contract.ts";

clockContract("real", () => ({ clock: new RealClock(), pass: (ms) => real(ms) }));

clockContract("simulated", () => {
  const clock = new SimulatedClock();
  return { clock, pass: (ms) => clock.advance(ms) };
});
