// The agent as the page knows it: its calls, what it shows, the words. Types alone come from the agent's own code.
import { createContext, useContext } from "react";
import type { Calls } from "@runnel/shared/ui/calls.ts";
import type { View, ViewStore } from "@runnel/shared/ui/view-store.ts";
import { type Say, words } from "@runnel/shared/ui/words.ts";
import type { Head } from "../src/agent/view/head.ts";
import type { ActivityItem } from "../src/agent/view/history.ts";
import type { DriveItem, TransferItem, UnmappedItem } from "../src/agent/view/views.ts";
import type { PageBridge } from "../src/main/bridge.ts";
import { WORDS, type WordId } from "./words/en.ts";

declare global {
  interface Window {
    /** The desktop app around the page; undefined in a browser. */
    runnel?: PageBridge;
  }
}

export type AgentLists = {
  drives: readonly DriveItem[];
  unmapped: readonly UnmappedItem[];
  transfers: readonly TransferItem[];
  lately: readonly ActivityItem[];
};
export type AgentView = View<Head, AgentLists>;
export const AGENT_LISTS = ["unmapped", "drives", "transfers", "lately"] as const;

export const say: Say<WordId> = words(WORDS);

export interface AgentPage {
  calls: Calls;
  store: ViewStore<Head, AgentLists>;
}

export const AgentContext = createContext<AgentPage | undefined>(undefined);

export function useAgent(): AgentPage {
  const page = useContext(AgentContext);
  if (page === undefined) throw new Error("A view stands outside of the page.");
  return page;
}
