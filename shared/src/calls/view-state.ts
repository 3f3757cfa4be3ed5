// The state that a page follows: a head, and lists whose items have keys. Pure: says what has changed, and what that
// leads to.

/** An item of a list; what else it has is the list's. */
export interface ViewItem {
  key: string;
}

export interface ViewState<Head = unknown, List extends string = string> {
  head: Head;
  /** Lists that were asked for, in the order in which they are shown. */
  lists: Partial<Record<List, ViewItem[]>>;
  /** Items of a list that had no place in it. */
  omitted: Partial<Record<List, number>>;
}

export interface ListChange {
  /** Items that are new or have changed. */
  put: ViewItem[];
  gone: string[];
}

export interface ViewChanges<Head = unknown, List extends string = string> {
  head?: Head;
  lists: Partial<Record<List, ListChange>>;
  omitted?: Partial<Record<List, number>>;
}

/** A message to a follower: a state first, then mostly what has changed. */
export type ViewPart<Head = unknown, List extends string = string> =
  | { snapshot: ViewState<Head, List> }
  | { changes: ViewChanges<Head, List> };

/** Texts of items, which several followers may compare. */
const texts = new WeakMap<ViewItem, string>();

/** Says what has changed. @returns undefined when nothing has. */
export function changesBetween<Head, List extends string>(
  before: ViewState<Head, List>,
  now: ViewState<Head, List>,
): ViewChanges<Head, List> | undefined {
  const changes: ViewChanges<Head, List> = { lists: {} };
  if (JSON.stringify(before.head) !== JSON.stringify(now.head)) changes.head = now.head;
  if (JSON.stringify(before.omitted) !== JSON.stringify(now.omitted)) changes.omitted = now.omitted;
  for (const list of Object.keys({ ...before.lists, ...now.lists }) as List[]) {
    const change = changeOf(before.lists[list] ?? [], now.lists[list] ?? []);
    if (change.put.length + change.gone.length > 0) changes.lists[list] = change;
  }
  const isSame = changes.head === undefined && changes.omitted === undefined && Object.keys(changes.lists).length === 0;
  return isSame ? undefined : changes;
}

/** Returns the state that changes lead to. */
export function applied<Head, List extends string>(
  state: ViewState<Head, List>,
  changes: ViewChanges<Head, List>,
): ViewState<Head, List> {
  const lists = { ...state.lists };
  for (const [list, change] of Object.entries(changes.lists) as [List, ListChange | undefined][]) {
    if (change === undefined) continue;
    const items = new Map((lists[list] ?? []).map((item) => [item.key, item]));
    for (const key of change.gone) items.delete(key);
    for (const item of change.put) items.set(item.key, item);
    lists[list] = [...items.values()];
  }
  return { head: changes.head ?? state.head, lists, omitted: changes.omitted ?? state.omitted };
}

function changeOf(before: readonly ViewItem[], now: readonly ViewItem[]): ListChange {
  const known = new Map(before.map((item) => [item.key, item]));
  const put = now.filter((item) => {
    const former = known.get(item.key);
    return former === undefined || textOf(former) !== textOf(item);
  });
  const keys = new Set(now.map(({ key }) => key));
  return { put, gone: before.filter(({ key }) => !keys.has(key)).map(({ key }) => key) };
}

function textOf(item: ViewItem): string {
  let text = texts.get(item);
  if (text === undefined) texts.set(item, (text = JSON.stringify(item)));
  return text;
}
