// The server as the console knows it: its calls, who is signed in, the words.
import { createContext, useContext, useMemo, useSyncExternalStore } from "react";
import type { Calls } from "@runnel/shared/ui/calls.ts";
import { formatCount } from "@runnel/shared/ui/format.ts";
import { type Answered, type SomeRows, useAnswer, useRows } from "@runnel/shared/ui/use-answer.ts";
import { ViewStore } from "@runnel/shared/ui/view-store.ts";
import type { TableWords } from "@runnel/shared/ui/widgets/data-table.tsx";
import { type Say, words } from "@runnel/shared/ui/words.ts";
import type {
  ConnectionRow,
  LeaseRow,
  OpenFileRow,
  Overview,
  RecallRow,
  TransferRow,
  VolumeRow,
} from "../src/live/rows.ts";
import type { Me } from "./api.ts";
import { WORDS, type WordId } from "./words/en.ts";

export const say: Say<WordId> = words(WORDS);

/** Lists that the server shows. */
export type ServerLists = {
  volumes: readonly VolumeRow[];
  connections: readonly ConnectionRow[];
  openFiles: readonly OpenFileRow[];
  leases: readonly LeaseRow[];
  recalls: readonly RecallRow[];
  transfers: readonly TransferRow[];
};

/** State of the server as it is now. */
export interface Followed {
  /** Undefined while it has not come, and for who is no admin. */
  head: Overview | undefined;
  lists: Partial<ServerLists>;
  /** Count of what had no place in a list. */
  omitted: Partial<Record<keyof ServerLists, number>>;
  /** A sentence for a person; "" when it went well. */
  problem: string;
  again(): void;
}

export interface ConsolePage {
  calls: Calls;
  me: Me;
  /** Ends the session, and shows the door. */
  signOut(): Promise<void>;
}

export const ConsoleContext = createContext<ConsolePage | undefined>(undefined);

export function useConsole(): ConsolePage {
  const page = useContext(ConsoleContext);
  if (page === undefined) throw new Error("A view stands outside of the console.");
  return page;
}

/** Asks the server. */
export function useServer<Result>(verb: string, request: object = {}): Answered<Result> {
  return useAnswer<Result>(useConsole().calls, verb, request);
}

/** Asks the server for the rows of a verb's list. */
export function useServerRows<Row>(verb: string, list: string, request: object = {}): Answered<SomeRows<Row>> {
  return useRows<string, Row>(useConsole().calls, verb, list, request);
}

/** Follows the overview and lists of the server, as long as somebody can see the page. */
export function useOverview(...wants: (keyof ServerLists)[]): Followed {
  return useFollowed("view", { wants });
}

/** Follows the volumes that whoever is signed in may see. */
export function useVolumes(): Followed {
  return useFollowed("viewVolumes", {});
}

function useFollowed(verb: string, request: { wants?: (keyof ServerLists)[] }): Followed {
  const { calls } = useConsole();
  const asked = JSON.stringify(request);
  const store = useMemo(
    () => new ViewStore<Overview | null, ServerLists>(calls, verb, JSON.parse(asked) as typeof request),
    [calls, verb, asked],
  );
  const isSeen = useSyncExternalStore(listenSeen, () => document.visibilityState === "visible");
  const { shown, problem } = useSyncExternalStore(isSeen ? store.listen : listenNever, store.get);
  const { head, lists = {}, omitted = {} } = shown ?? {};
  return { head: head ?? undefined, lists, omitted, problem, again: store.again };
}

function listenSeen(listener: () => void): () => void {
  document.addEventListener("visibilitychange", listener);
  return () => document.removeEventListener("visibilitychange", listener);
}

function listenNever(): () => void {
  return () => undefined;
}

export const TABLE_WORDS: TableWords = {
  search: say("tableSearch"),
  exportCsv: say("tableExport"),
  noMatch: say("tableNoMatch"),
  noMatchHint: say("tableNoMatchHint"),
  clear: say("tableClear"),
  previous: say("tablePrevious"),
  next: say("tableNext"),
  range: (first, last, total) =>
    say("tableRange", { first: formatCount(first), last: formatCount(last), total: formatCount(total) }),
  count: (count) => say("tableCount", { count }),
};
