// Finds the invite among the words that the app was started with: a link of the system begins with runnel://. It is a
// secret, and comes from whoever made a person click: it is handed to the form that asks, and nothing else is done
// with it.
import { isRunnelError, parseInvite } from "@runnel/shared";
import { say } from "./say.ts";

/** @returns the invite; a sentence when it is broken; undefined when no word is one. */
export function inviteAmong(words: readonly string[]): { invite: string } | { problem: string } | undefined {
  const link = words.find((word) => word.toLowerCase().startsWith("runnel:"));
  if (link === undefined) return undefined;
  try {
    parseInvite(link);
    return { invite: link };
  } catch (error) {
    if (isRunnelError(error)) return { problem: say("notInvite") };
    throw error;
  }
}
