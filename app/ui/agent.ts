// The agent as the page knows it: its calls, what it shows, the words. Types alone come from the agent's own code.
import { createContext, useContext } from "react";
import type { Calls } from "../../shared/ui/calls.ts";
import type { View, ViewStore } from "../../shared/ui/view-store.ts";
import { type Say, words } from "../../shared/ui/words.ts";
import type { StateName } from "../../shared/ui/widgets/state-icon.tsx";
import { WORDS, type WordId } from "./words/en.ts";

export interface Head {
  state: StateName;
  sentence: string;
  next: string | null;
}

export interface Drive extends Head {
  key: string;
  url: string;
  unsentFiles: number;
  unsentBytes: number;
  cacheBytes: number;
  conflicts: number;
  problems: string[];
}

export interface MovingFile {
  key: string;
  mountpoint: string;
  direction: "up" | "down";
  path: string;
  files: number;
  totalBytes: number;
  doneBytes: number;
  reusedBytes: number;
  bytesPerSecond: number;
  leftMs: number | null;
  waitsFor: string[];
}

export interface Event {
  key: string;
  atMs: number;
  sentence: string;
}

export type AgentLists = { drives: readonly Drive[]; transfers: readonly MovingFile[]; lately: readonly Event[] };
export type AgentView = View<Head, AgentLists>;
export const AGENT_LISTS = ["drives", "transfers", "lately"] as const;

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
