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
}

export class ViewStore<Head, Items extends Lists> {
  readonly #calls: Calls;
  readonly #wants: readonly (keyof Items & string)[];
  readonly #listeners = new Set<() => void>();
  #view: View<Head, Items>;

  constructor(calls: Calls, wants: readonly (keyof Items & string)[]) {
    this.#calls = calls;
    this.#wants = wants;
    this.#view = { line: calls.state, shown: undefined };
    calls.listen(() => this.#lineChanged());
    this.#lineChanged();
  }

  readonly listen = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly get = (): View<Head, Items> => this.#view;

  #lineChanged(): void {
    this.#set({ ...this.#view, line: this.#calls.state });
    if (this.#calls.state !== "live") return;
    const part = (each: unknown): void => this.#take(each as Part<Head, Items>);
    // It ends with the line, after which the next one begins it anew.
    this.#calls.ask("view", { wants: this.#wants }, { part }).catch(() => undefined);
  }

  #take(part: Part<Head, Items>): void {
    const shown = this.#view.shown;
    if ("snapshot" in part) this.#set({ ...this.#view, shown: part.snapshot });
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
