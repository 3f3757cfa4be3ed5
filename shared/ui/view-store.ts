// Keeps what the other end shows: a snapshot, then changes by key. Components read it with useSyncExternalStore.
import { useSyncExternalStore } from "react";
import type { Calls, LineState } from "./calls.ts";

interface Keyed {
  key: string;
}

type Lists = Readonly<Record<string, readonly Keyed[]>>;

/** Shape of what the verb `view` sends; Head and the items are the other end's. */
export interface ViewSnapshot<Head, Items extends Lists> {
  head: Head;
  lists: Partial<Items>;
  /** Items of a list that had no place in it. */
  omitted: Partial<Record<keyof Items, number>>;
}

interface ViewChanges<Head, Items extends Lists> {
  head?: Head;
  lists: Partial<{ [List in keyof Items]: { put: Items[List]; gone: readonly string[] } }>;
  omitted?: ViewSnapshot<Head, Items>["omitted"];
}

type Part<Head, Items extends Lists> = { snapshot: ViewSnapshot<Head, Items> } | { changes: ViewChanges<Head, Items> };

export interface View<Head, Items extends Lists> {
  line: LineState;
  /** The state; undefined while it has not come. While the line is lost it is what was so at last. */
  shown: ViewSnapshot<Head, Items> | undefined;
  /** A sentence for a person: why it does not come; "" when it does. It is asked for again by itself. */
  problem: string;
}

/** Delay before a view that was refused is asked for again. */
const AGAIN_MS = 2_500;

/** Follows while somebody listens. */
export class ViewStore<Head, Items extends Lists> {
  readonly #calls: Calls;
  readonly #verb: string;
  readonly #request: object;
  readonly #listeners = new Set<() => void>();
  #view: View<Head, Items>;
  /** Ends what goes on; undefined while nobody listens. */
  #following: AbortController | undefined;

  constructor(calls: Calls, verb: string, request: { wants?: readonly (keyof Items & string)[] }) {
    this.#calls = calls;
    this.#verb = verb;
    this.#request = request;
    this.#view = { line: calls.state, shown: undefined, problem: "" };
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#begin();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#end();
    };
  };

  readonly get = (): View<Head, Items> => this.#view;

  /** Asks for the state anew. */
  readonly again = (): void => {
    if (this.#following === undefined) return;
    this.#end();
    this.#begin();
  };

  #begin(): void {
    const following = new AbortController();
    const { signal } = following;
    this.#following = following;
    signal.addEventListener(
      "abort",
      this.#calls.listen(() => this.#lineChanged(signal)),
    );
    this.#lineChanged(signal);
  }

  #end(): void {
    this.#following?.abort();
    this.#following = undefined;
  }

  #lineChanged(signal: AbortSignal): void {
    this.#set({ ...this.#view, line: this.#calls.state });
    if (this.#calls.state === "live") void this.#follow(signal);
  }

  /** It ends with the line, after which the next one begins it anew. */
  async #follow(signal: AbortSignal): Promise<void> {
    const part = (each: unknown): void => {
      if (!signal.aborted) this.#take(each as Part<Head, Items>);
    };
    try {
      await this.#calls.ask(this.#verb, this.#request, { part, signal });
    } catch (error) {
      if (signal.aborted || this.#calls.state !== "live") return;
      this.#set({ ...this.#view, problem: error instanceof Error ? error.message : String(error) });
      const timer = setTimeout(this.again, AGAIN_MS);
      signal.addEventListener("abort", () => clearTimeout(timer));
    }
  }

  #take(part: Part<Head, Items>): void {
    const shown = this.#view.shown;
    if ("snapshot" in part) this.#set({ ...this.#view, shown: part.snapshot, problem: "" });
    else if (shown !== undefined) this.#set({ ...this.#view, shown: changed(shown, part.changes) });
  }

  #set(view: View<Head, Items>): void {
    this.#view = view;
    for (const listener of this.#listeners) listener();
  }
}

function changed<Head, Items extends Lists>(
  { head, lists, omitted }: ViewSnapshot<Head, Items>,
  changes: ViewChanges<Head, Items>,
): ViewSnapshot<Head, Items> {
  const next: Partial<Record<keyof Items, readonly Keyed[]>> = { ...lists };
  for (const [list, change] of Object.entries(changes.lists)) {
    if (change === undefined) continue;
    const items = new Map((lists[list] ?? []).map((item) => [item.key, item]));
    for (const key of change.gone) items.delete(key);
    for (const item of change.put) items.set(item.key, item);
    next[list as keyof Items] = [...items.values()];
  }
  return { head: changes.head ?? head, lists: next as Partial<Items>, omitted: changes.omitted ?? omitted };
}

export function useView<Head, Items extends Lists>(store: ViewStore<Head, Items>): View<Head, Items> {
  return useSyncExternalStore(store.listen, store.get);
}
