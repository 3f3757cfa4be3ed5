// Options about colleagues that several commands have: what is typed, and what an agent is asked for it.
import { RunnelError } from "@runnel/shared/base";
import { parseSize } from "./size.ts";

/** Words with which a person takes back what was said before. */
type Typed<T> = T | "none" | "auto";

export interface ColleagueOptions {
  colleaguesUp?: Typed<number>;
  metered?: Typed<boolean>;
}

/** @throws RunnelError Invalid */
export function parseUp(typed: string): Typed<number> {
  if (typed === "none") return typed;
  const bytes = parseSize(typed);
  if (bytes > 0) return bytes;
  const sentence = `With "${typed}" colleagues would get nothing. Write a size: 500K; or share nothing: --colleagues off.`;
  throw new RunnelError("Invalid", "read the command", sentence);
}

/** @throws RunnelError Invalid */
export function parseMetered(typed: string): Typed<boolean> {
  if (typed === "auto") return typed;
  if (typed === "yes" || typed === "no") return typed === "yes";
  throw new RunnelError("Invalid", "read the command", `"${typed}" says nothing of a line. Write yes, no or auto.`);
}

export const COLLEAGUES_UP = [
  "--colleagues-up <size>",
  "how much they get a second at the most: 500K, 5M; none: as much as the line takes (default)",
  parseUp,
] as const;

export const METERED = [
  "--metered <word>",
  "yes: what crosses this line costs, so nothing is shared with colleagues; no; auto: as NetworkManager or Windows says, else no (default)",
  parseMetered,
] as const;

/** Null stands for what is so unless a person says otherwise. */
export function askedOfColleagues({ colleaguesUp, metered }: ColleagueOptions): {
  colleaguesUpBytes: number | null | undefined;
  isMetered: boolean | null | undefined;
} {
  return {
    colleaguesUpBytes: typeof colleaguesUp === "string" ? null : colleaguesUp,
    isMetered: typeof metered === "string" ? null : metered,
  };
}
