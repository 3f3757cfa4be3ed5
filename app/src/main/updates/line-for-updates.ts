// Decides whether an update may cross the line now: what a person pauses or pays for by the byte is not for updates.
import { isRunnelError } from "@runnel/shared";
import type { AgentState } from "../agent-state.ts";

/**
 * Resolves to why an update waits, in a sentence; undefined: it may come. Where there is no agent, nobody says that it
 * may not: a version whose agent does not start is replaced by one whose agent does.
 * @param asksMetered asks the agent; one of an earlier version does not know the question
 */
export async function whyUpdateWaits(
  state: AgentState,
  asksMetered: () => Promise<boolean>,
): Promise<string | undefined> {
  if (state.kind === "starting") return "The agent is being started.";
  if (state.kind !== "live") return undefined;
  if (state.drives.some(({ pause }) => pause !== null)) return "A drive is paused.";
  try {
    return (await asksMetered()) ? "The line is metered." : undefined;
  } catch (error) {
    if (isRunnelError(error, "Unsupported")) return undefined;
    return "The agent does not say whether the line is metered.";
  }
}
