// The state of the agent that a view shows. Pure: fits it into a bound.
import type * as shared from "@runnel/shared";
import type { ViewItem } from "@runnel/shared";
import type { Head } from "./head.ts";

export const VIEW_LISTS = ["unmapped", "drives", "transfers", "lately"] as const;
export type ViewList = (typeof VIEW_LISTS)[number];

export type ViewLists = ViewState["lists"];
export type ViewState = shared.ViewState<Head, ViewList>;
export type ViewChanges = shared.ViewChanges<Head, ViewList>;

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

/** Shortens a text that somebody else may have chosen: its beginning and its end stay. */
export function clip(text: string, charactersMax: number = ITEM_TEXT_MAX): string {
  if (text.length <= charactersMax) return text;
  const half = Math.floor((charactersMax - 1) / 2);
  return `${text.slice(0, half)}…${text.slice(-half)}`;
}

export function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
