// Keeps what a person chose (a search, a filter, an order) in the address, so that a reload, a bookmark and a link show
// the same.
import { useCallback } from "react";
import { useSearchParams } from "wouter";

/** Returns the value of a parameter, "" when the address has none, and sets it; "" takes it out. */
export function useUrlValue(name: string): [string, (value: string) => void] {
  const [params, setParams] = useSearchParams();
  const set = useCallback(
    (value: string): void =>
      setParams(
        (before) => {
          const next = new URLSearchParams(before);
          if (value === "") next.delete(name);
          else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [name, setParams],
  );
  return [params.get(name) ?? "", set];
}
