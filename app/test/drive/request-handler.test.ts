// Answers of the drive when the line has just broken: from here, or once it is there again.
import { expect, test } from "@jest/globals";
import { ROOT_NODE, RunnelError, SimulatedClock } from "@runnel/shared";
import { RequestHandler, type RequestHandlerDeps } from "../../src/agent/drive/request-handler.ts";

const SILENCE_MS = 2000;

/**
 * Answers a lookup; `isBackAfterMs`: the line has just broken, and is there again then. Returns how the answer came:
 * offline, or when.
 */
async function lookUp(isBackAfterMs: number, hasLease = false, isElsewhere = false): Promise<string> {
  const clock = new SimulatedClock();
  const beganMs = clock.bootMs();
  const nowMs = (): number => clock.bootMs() - beganMs;
  let answer = "";
  const session = {
    used: () => undefined,
    ownTime: { watch: () => () => undefined, totalLateMs: 0 },
    hasLease,
    get isResponsive() {
      return nowMs() >= isBackAfterMs;
    },
    get silenceLeftMs() {
      return this.isResponsive ? 0 : Math.max(0, SILENCE_MS - nowMs());
    },
    elsewhere: {
      touched: (nodes: readonly number[]) => (isElsewhere ? nodes : []),
      current: async () => {
        if (isElsewhere && !session.isResponsive) throw new RunnelError("Unreachable", "stat", "The line broke.");
      },
    },
    current: async () => {
      if (!session.isResponsive) throw new RunnelError("Unreachable", "current", "The line broke.");
    },
    responsive: (waitMs: number) =>
      new Promise<void>((resolve, reject) => {
        clock.after(Math.min(waitMs, isBackAfterMs - nowMs()), () =>
          session.isResponsive ? resolve() : reject(new RunnelError("Unreachable", "wait", "It is not there.")),
        );
      }),
  };
  const tree = {
    real: (node: number) => node,
    boundTo: () => undefined,
    lookup: async () => undefined,
  };
  const drive = {
    heartbeat: () => undefined,
    putEntries: () => undefined,
    done: () => (answer += `answered at ${nowMs()}`),
  };
  const writeBack = { programAsks: () => undefined, early: { isAllowed: false } };
  const deps = { session, tree, drive, writeBack, clock, answersOffline: () => (answer += "offline, ") };
  const request = { id: 1, op: "lookup", folder: ROOT_NODE, name: "a" };
  new RequestHandler(deps as unknown as RequestHandlerDeps).requests([request] as never);
  await clock.runUntil(() => answer.includes("answered"), 10_000);
  return answer;
}

test("while a line has just broken a question waits for it as for a silence, and for one that is away longer it does not", async () => {
  expect(await lookUp(0)).toBe("answered at 0");
  expect(await lookUp(300)).toBe("answered at 300");
  expect(await lookUp(9000)).toBe("offline, answered at 2000");
  // Names that a lease still vouches for are known.
  expect(await lookUp(9000, true)).toBe("answered at 0");
  // It does not for those below folders on which others have write leases.
  expect(await lookUp(300, true, true)).toBe("answered at 300");
  expect(await lookUp(9000, true, true)).toBe("offline, answered at 2000");
});
