// The server as the console knows it: its calls, who is signed in, the words.
import { createContext, useContext } from "react";
import type { Calls } from "@runnel/shared/ui/calls.ts";
import { formatCount } from "@runnel/shared/ui/format.ts";
import { type Answered, useAnswer, useRows } from "@runnel/shared/ui/use-answer.ts";
import type { TableWords } from "@runnel/shared/ui/widgets/data-table.tsx";
import { type Say, words } from "@runnel/shared/ui/words.ts";
import type { Me } from "./api.ts";
import { WORDS, type WordId } from "./words/en.ts";

export const say: Say<WordId> = words(WORDS);

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

/** Milliseconds between two askings of what changes by itself. */
export const FOLLOW_MS = 2500;

/** Asks the server; again every `everyMs`, when it is given. */
export function useServer<Result>(verb: string, request: object = {}, everyMs?: number): Answered<Result> {
  return useAnswer<Result>(useConsole().calls, verb, request, everyMs);
}

/** Asks the server for all rows of a verb's list; again every `everyMs`, when it is given. */
export function useServerRows<Row>(
  verb: string,
  list: string,
  request: object = {},
  everyMs?: number,
): Answered<readonly Row[]> {
  return useRows<string, Row>(useConsole().calls, verb, list, request, everyMs);
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
