// The line to the other end, for widgets: an answer that has not come yet is awaited only while somebody may answer.
import { createContext } from "react";
import type { LineState } from "./calls.ts";

export interface LineKnowledge {
  /** The line was lost, or has ended: nobody answers now. */
  isGone: boolean;
  /** Sentence for a place that has nothing to show meanwhile. */
  unknown: string;
}

export const LineContext = createContext<LineKnowledge>({ isGone: false, unknown: "" });

export function lineKnowledge(line: LineState, unknown: string): LineKnowledge {
  return { isGone: line === "lost" || line === "ended", unknown };
}
