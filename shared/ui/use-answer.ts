// Answers of calls for components: asked when it appears, when its request changes, and when the line is back.
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import type { Calls } from "./calls.ts";

export interface Answered<Result> {
  /** The answer; undefined while it has not come. */
  result: Result | undefined;
  /** A sentence for a person; "" when it went well. */
  problem: string;
  again(): void;
}

/**
 * `request` must be the same object, or of the same content, while it asks for the same. With `everyMs` it asks again
 * so long after each answer, as long as somebody can see the page.
 */
export function useAnswer<Result>(calls: Calls, verb: string, request: object, everyMs?: number): Answered<Result> {
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
        const result = await calls.ask<Result>(verb, JSON.parse(asked) as object, { signal: abort.signal });
        if (!abort.signal.aborted) setAnswered({ result, problem: "" });
      } catch (error) {
        const problem = error instanceof Error ? error.message : String(error);
        if (!abort.signal.aborted) setAnswered((before) => ({ ...before, problem }));
      }
      if (everyMs !== undefined && !abort.signal.aborted) timer = setTimeout(askIfSeen, everyMs);
    };
    const askIfSeen = (): void => {
      if (document.visibilityState === "visible") void ask();
      else timer = setTimeout(askIfSeen, everyMs);
    };
    void ask();
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [calls, verb, asked, line, count, everyMs]);
  const again = useCallback(() => setCount((before) => before + 1), []);
  return { result: answered.result, problem: answered.problem, again };
}
