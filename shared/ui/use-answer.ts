// Answers of calls for components: asked when it appears, when its request changes, and when the line is back.
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from "react";
import type { Calls } from "./calls.ts";

export interface Answered<Result> {
  /** The answer; undefined while it has not come. */
  result: Result | undefined;
  /** A sentence for a person; "" when it went well. */
  problem: string;
  again(): void;
}

/** Rows of a list by key that a view takes. */
const ROWS_MAX = 10_000;

/** Rows of a list: all of them, or the first. */
export interface SomeRows<Row> {
  rows: readonly Row[];
  isWhole: boolean;
}

/**
 * `request` must be the same object, or of the same content, while it asks for the same. With `everyMs` it asks again
 * so long after each answer, as long as somebody can see the page.
 */
export function useAnswer<Result>(calls: Calls, verb: string, request: object, everyMs?: number): Answered<Result> {
  return useAsked<Result>(calls, verb, request, askOnce, everyMs);
}

/** Asks for the list of a verb by key, page after page: its rows, but for those of a very long one, are one answer. */
export function useRows<List extends string, Row>(
  calls: Calls,
  verb: string,
  list: List,
  request: object,
  everyMs?: number,
): Answered<SomeRows<Row>> {
  const ask = useMemo(() => askRows<List, Row>(list), [list]);
  return useAsked<SomeRows<Row>>(calls, verb, request, ask, everyMs);
}

type Ask<Result> = (calls: Calls, verb: string, request: object, signal: AbortSignal) => Promise<Result>;

function askOnce<Result>(calls: Calls, verb: string, request: object, signal: AbortSignal): Promise<Result> {
  return calls.ask<Result>(verb, request, { signal });
}

function askRows<List extends string, Row>(list: List): Ask<SomeRows<Row>> {
  type Page = Record<List, readonly Row[]> & { after: string | null };
  return async (calls, verb, request, signal) => {
    const all: Row[] = [];
    let key: string | null | undefined;
    do {
      const asked: object = key === undefined ? request : { ...request, after: key };
      const page: Page = await calls.ask<Page>(verb, asked, { signal });
      all.push(...page[list]);
      key = page.after;
    } while (key !== null && all.length < ROWS_MAX);
    return { rows: all, isWhole: key === null };
  };
}

function useAsked<Result>(
  calls: Calls,
  verb: string,
  request: object,
  how: Ask<Result>,
  everyMs: number | undefined,
): Answered<Result> {
  const line = useSyncExternalStore(calls.listen, () => calls.state);
  const [answered, setAnswered] = useState<{ result?: Result; problem: string }>({ problem: "" });
  const [count, setCount] = useState(0);
  const asked = JSON.stringify(request);
  useEffect(() => {
    if (line !== "live") return undefined;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      try {
        const result = await how(calls, verb, JSON.parse(asked) as object, abort.signal);
        if (!abort.signal.aborted) setAnswered({ result, problem: "" });
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        // That the line broke is told above all views; this is asked again once it is back.
        if (!abort.signal.aborted && calls.state === "live") setAnswered((before) => ({ ...before, problem }));
      }
      if (everyMs !== undefined && !abort.signal.aborted) timer = setTimeout(askIfSeen, everyMs);
    };
    const askIfSeen = (): void => {
      if (document.visibilityState === "visible") void ask();
      else timer = setTimeout(askIfSeen, everyMs);
    };
    void ask();
    // Shows who comes back to the page what is so now.
    const seen = (): void => {
      if (everyMs === undefined && document.visibilityState === "visible") void ask();
    };
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      clearTimeout(timer);
      abort.abort();
    };
  }, [calls, verb, asked, how, line, count, everyMs]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  return { result: answered.result, problem: answered.problem, again };
}
