// Asks the server who has a file or folder open.
import { RunnelError, checkResult, isRunnelError } from "@runnel/shared";
import type { Openers } from "../mount-status.ts";
import type { Session } from "../wire/session.ts";

/**
 * Asks with a timeout of its own: that nothing comes makes no drive offline. `folder` holds the node; the root holds
 * itself. @throws Unreachable at once while offline, else after a silence; Unsupported by a server of an earlier
 * version; NotFound.
 */
export async function askOpeners(
  session: Pick<Session, "mustRespond" | "inBackground" | "aside">,
  node: number,
  folder: number,
): Promise<Pick<Openers, "openers" | "total">> {
  session.mustRespond();
  try {
    const answer = await session.aside(session.inBackground("openers", { node, folder }), "openers");
    const { openers, total } = checkResult("openers", answer);
    return { total, openers: openers.map((opener) => ({ ...opener, sinceMs: opener.sinceMs || null })) };
  } catch (error) {
    if (!isRunnelError(error, "Unsupported")) throw error;
    const sentence = "The server is of an earlier version, and does not tell who has a file open.";
    throw new RunnelError("Unsupported", "openers", sentence, { cause: error });
  }
}
