// An update crosses the line, or waits, by what is known of the agent.
import { expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import type { AgentState } from "../../../src/main/agent-state.ts";
import { whyUpdateWaits } from "../../../src/main/updates/line-for-updates.ts";
import { driveFacts } from "../facts.ts";

const HEAD = { state: "fine", sentence: "All is well.", next: null, act: null } as const;
const live = (...drives: ReturnType<typeof driveFacts>[]): AgentState => ({
  kind: "live",
  head: HEAD,
  drives,
  lost: [],
});
const pause = { sinceMs: 1, untilMs: null, until: "until you resume", reminders: 0 };

const free = (): Promise<boolean> => Promise.resolve(false);
const metered = (): Promise<boolean> => Promise.resolve(true);
const fails = (kind: "Unsupported" | "Unavailable") => () => Promise.reject(new RunnelError(kind, "ask", "No."));

test.each<[string, AgentState, () => Promise<boolean>, string | undefined]>([
  ["while the agent starts", { kind: "starting" }, free, "The agent is being started."],
  ["where all is well", live(driveFacts()), free, undefined],
  ["where there is no drive", live(), free, undefined],
  ["where one drive of two is paused", live(driveFacts(), driveFacts({ pause })), free, "A drive is paused."],
  ["over a metered line", live(driveFacts()), metered, "The line is metered."],
  ["where the agent is of an earlier version", live(), fails("Unsupported"), undefined],
  [
    "where the agent has just gone",
    live(),
    fails("Unavailable"),
    "The agent does not say whether the line is metered.",
  ],
  ["where a person has stopped the agent", { kind: "stopped" }, metered, undefined],
  ["where no agent starts", { kind: "failed", why: "unreachable", sentence: "No." }, metered, undefined],
])("%s", async (_, state, asksMetered, why) => {
  expect(await whyUpdateWaits(state, asksMetered)).toBe(why);
});
