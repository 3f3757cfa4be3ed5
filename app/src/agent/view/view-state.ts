// The state that a view shows: a head, and lists whose items have keys. Pure: fits it into a bound, and says what has
// changed since the state before.
import type { Head } from "./head.ts";

export const VIEW_LISTS = ["drives", "transfers", "lately"] as const;
export type ViewList = (typeof VIEW_LISTS)[number];

/** An item of a list; what else it has is the list's. */
export interface ViewItem {
  key: string;
}

/** Lists that were asked for, in the order in which they are shown. */
export type ViewLists = Partial<Record<ViewList, ViewItem[]>>;

export interface ViewState {
  head: Head;
  lists: ViewLists;
  /** Items of a list that had no place in it. */
  omitted: Partial<Record<ViewList, number>>;
}

export interface ListChange {
  /** Items that are new or have changed. */
  put: ViewItem[];
  gone: string[];
}

export interface ViewChanges {
  head?: Head;
  lists: Partial<Record<ViewList, ListChange>>;
  omitted?: ViewState["omitted"];
}

/** A snapshot is not longer than this, as JSON in UTF-8. */
export const SNAPSHOT_BYTES = 32 * 1024;
/** Bytes of the envelope around it. */
const ENVELOPE_BYTES = 256;
const ITEM_TEXT_MAX = 400;
const HEAD_TEXT_MAX = 1_000;

/**
 * Fits a state into a snapshot: each list has an equal share of the space, and what one leaves is for the next; the
 * last items are left out.
 */
export function fitted(head: Head, lists: ViewLists): ViewState {
  const short = {
    ...head,
    sentence: clip(head.sentence, HEAD_TEXT_MAX),
    next: head.next && clip(head.next, HEAD_TEXT_MAX),
  };
  const state: ViewState = { head: short, lists: {}, omitted: {} };
  let freeBytes = SNAPSHOT_BYTES - ENVELOPE_BYTES - bytesOf(short);
  const wanted = VIEW_LISTS.filter((list) => lists[list] !== undefined);
  for (const [index, list] of wanted.entries()) {
    const items = lists[list] ?? [];
    const kept: ViewItem[] = [];
    let shareBytes = Math.floor(freeBytes / (wanted.length - index));
    for (const item of items) {
      const bytes = bytesOf(item) + 1;
      if (bytes > shareBytes) break;
      shareBytes -= bytes;
      freeBytes -= bytes;
      kept.push(item);
    }
    state.lists[list] = kept;
    if (kept.length < items.length) state.omitted[list] = items.length - kept.length;
  }
  return state;
}

/** Says what has changed. @returns undefined when nothing has. */
export function changesBetween(before: ViewState, now: ViewState): ViewChanges | undefined {
  const changes: ViewChanges = { lists: {} };
  if (textOf(before.head) !== textOf(now.head)) changes.head = now.head;
  if (textOf(before.omitted) !== textOf(now.omitted)) changes.omitted = now.omitted;
  for (const list of VIEW_LISTS) {
    const change = changeOf(before.lists[list] ?? [], now.lists[list] ?? []);
    if (change.put.length + change.gone.length > 0) changes.lists[list] = change;
  }
  const isSame = changes.head === undefined && changes.omitted === undefined && Object.keys(changes.lists).length === 0;
  return isSame ? undefined : changes;
}

/** Returns the state that changes lead to. */
export function applied(state: ViewState, changes: ViewChanges): ViewState {
  const lists: ViewLists = { ...state.lists };
  for (const list of VIEW_LISTS) {
    const change = changes.lists[list];
    if (change === undefined) continue;
    const items = new Map((lists[list] ?? []).map((item) => [item.key, item]));
    for (const key of change.gone) items.delete(key);
    for (const item of change.put) items.set(item.key, item);
    lists[list] = [...items.values()];
  }
  return { head: changes.head ?? state.head, lists, omitted: changes.omitted ?? state.omitted };
}

function changeOf(before: readonly ViewItem[], now: readonly ViewItem[]): ListChange {
  const texts = new Map(before.map((item) => [item.key, textOf(item)]));
  const put = now.filter((item) => texts.get(item.key) !== textOf(item));
  const keys = new Set(now.map(({ key }) => key));
  return { put, gone: before.filter(({ key }) => !keys.has(key)).map(({ key }) => key) };
}

/** Shortens a text that somebody else may have chosen: its beginning and its end stay. */
export function clip(text: string, charactersMax: number = ITEM_TEXT_MAX): string {
  if (text.length <= charactersMax) return text;
  const half = Math.floor((charactersMax - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

function textOf(value: unknown): string {
  return JSON.stringify(value);
}

export function bytesOf(value: unknown): number {
  return Buffer.byteLength(textOf(value));
}
