// runnel status --watch: follows the agent's view, on a terminal as a screen, else a line for each sentence that is
// new.
import { applied } from "@runnel/shared/base";
import type { ViewState } from "../agent/view/view-state.ts";
import { askRunningAgent } from "./agent-connection.ts";
import type { Output } from "./output.ts";
import { describeView } from "./view-screen.ts";
import { viewSchemas } from "../verbs/view.ts";

/** Follows until the agent ends or the command is ended. @returns false when no agent runs. */
export async function watchAgent(output: Output): Promise<boolean> {
  let state: ViewState | undefined;
  let shown = "";
  const watched = await askRunningAgent("view", viewSchemas, { wants: ["drives", "transfers", "lately"] }, (part) => {
    if ("snapshot" in part) state = part.snapshot;
    else if (state !== undefined) state = applied(state, part.changes);
    if (state === undefined) return;
    const { head } = state;
    if (output.isJson) output.result(part, () => []);
    else if (!output.screen(describeView(state)) && head.sentence !== shown) output.result(head, () => [head.sentence]);
    shown = head.sentence;
  });
  return watched !== undefined;
}
