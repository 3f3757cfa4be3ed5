// Opens a file in the browser that this user prefers.
import { type Clock, RealClock, RunnelError } from "@runnel/shared/base";
import { openWithSystem } from "../../agent/control/host/system-opener.ts";

export interface Opening {
  /** Command that prints a link instead, for a person whose browser does not start. */
  printing: string;
  clock?: Clock;
  env?: NodeJS.ProcessEnv;
}

/** Resolves once the browser was started. @throws RunnelError Unavailable when there is no way to. */
export async function openInBrowser(
  path: string,
  { printing, clock = new RealClock(), env = process.env }: Opening,
): Promise<void> {
  const failure = await openWithSystem(path, clock, env);
  if (failure === undefined) return;
  const next = `Print a link, and open that yourself: "${printing}".`;
  throw new RunnelError("Unavailable", "open a browser", `No browser was opened: ${failure}. ${next}`);
}
