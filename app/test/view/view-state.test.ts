// States that a view sends: never more than fits, and after all changes the same as a snapshot would say.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import type { Head } from "../../src/agent/view/head.ts";
import { applied, changesBetween, type ViewItem } from "@runnel/shared";
import {
  bytesOf,
  clip,
  fitted,
  SNAPSHOT_BYTES,
  type ViewLists,
  type ViewState,
  VIEW_LISTS,
} from "../../src/agent/view/view-state.ts";

const HEAD: Head = { state: "fine", sentence: "Everything is saved on the server.", next: null, act: null };

function itemsOf(count: number, text: string): ViewItem[] {
  return Array.from({ length: count }, (_, index) => ({ key: `${index}`, path: text }) as ViewItem);
}

function sorted({ head, lists, omitted }: ViewState): unknown {
  const byKey = VIEW_LISTS.map((list) => (lists[list] ?? []).toSorted((a, b) => (a.key < b.key ? -1 : 1)));
  return { head, byKey, omitted };
}

describe("a snapshot", () => {
  test.each([
    ["much of one list", { drives: [], transfers: itemsOf(10_000, "a"), lately: [] }],
    ["much of all", { drives: itemsOf(500, "b"), transfers: itemsOf(500, "c"), lately: itemsOf(500, "d") }],
    ["control characters", { transfers: itemsOf(500, "\u0001\n\u2028".repeat(50)) }],
    ["items that are too long", { lately: itemsOf(3, "x".repeat(SNAPSHOT_BYTES)) }],
  ] satisfies [string, ViewLists][])("with %s stays within its bound and says what is left out", (_what, lists) => {
    const long = { ...HEAD, sentence: "€".repeat(50_000), next: "n".repeat(50_000) };
    const state = fitted(long, lists);
    expect(bytesOf({ id: 1, part: { snapshot: state } })).toBeLessThanOrEqual(SNAPSHOT_BYTES);
    for (const list of VIEW_LISTS) {
      const [all, kept] = [(lists as ViewLists)[list]?.length ?? 0, state.lists[list]?.length ?? 0];
      expect(kept + (state.omitted[list] ?? 0)).toBe(all);
    }
  });

  test("has the whole of what is small", () => {
    const lists = { drives: itemsOf(2, "a"), transfers: itemsOf(20, "b"), lately: itemsOf(20, "c") };
    expect(fitted(HEAD, lists)).toEqual({ head: HEAD, lists, omitted: {} });
  });
});

test("changes lead from any state to any other", () => {
  const item = fc.record({ key: fc.constantFrom("1", "2", "3", "4"), path: fc.string() });
  const list = fc.uniqueArray(item, { selector: ({ key }) => key });
  const state = fc.record({ drives: list, transfers: list, lately: list });
  fc.assert(
    fc.property(state, state, fc.string(), (one, other, sentence) => {
      const [before, now] = [fitted(HEAD, one), fitted({ ...HEAD, sentence }, other)];
      const changes = changesBetween(before, now);
      if (changes === undefined) expect(sorted(now)).toEqual(sorted(before));
      else expect(sorted(applied(before, changes))).toEqual(sorted(now));
      expect(changesBetween(now, now)).toBeUndefined();
    }),
  );
});

test("a long text keeps its ends", () => {
  expect(clip("short")).toBe("short");
  expect(clip(`begin${"-".repeat(1000)}end`, 21)).toBe("begin-----…-------end");
});
