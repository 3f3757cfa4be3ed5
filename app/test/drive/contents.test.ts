// Contents that the drive reads from: while another takes their place, and after long.
import { expect, test } from "@jest/globals";
import type { NodeState, VersionId } from "@runnel/shared";
import type { CachedContent, Hold } from "../../src/agent/cache/cache.ts";
import { Contents } from "../../src/agent/drive/contents.ts";
import type { RequestOfOp } from "../../src/agent/drive/request-of-op.ts";
import { makeState } from "../replica/model-tree.ts";
import { nothingPaused } from "../pauses/nothing-paused.ts";

const NODE = 5;
const SIZE_BYTES = 10;

function contentOf(id: number, version: VersionId): CachedContent {
  return { id, version, sizeBytes: SIZE_BYTES, path: `content-${id}` } as unknown as CachedContent;
}

/** A place where one program has the file open; what it reads has not come. */
class Place {
  readonly contents = new Map<number, CachedContent>();
  /** Contents that the drive has. */
  readonly given = new Set<number>();
  readonly copied: number[] = [];
  readonly holds = new Map<number, number>();
  readonly doubted: number[] = [];
  nowMs = 1000;
  isOpen = true;
  /** Another file is open over the content. */
  isShared = false;
  readonly ensured: number[] = [];
  mayEvict: (id: number) => boolean = () => true;
  private readonly state: NodeState = { ...makeState(NODE, "file", 7), version: 7, sizeBytes: SIZE_BYTES };
  readonly subject: Contents;

  /** `isBack`: the line is there again before the silence is over. */
  constructor(isBack = false) {
    const add = (id: number, by: number): void => void this.holds.set(id, (this.holds.get(id) ?? 0) + by);
    const hold = (content: CachedContent): Hold => {
      add(content.id, 1);
      return { content, [Symbol.dispose]: () => add(content.id, -1) };
    };
    const deps = {
      drive: {
        putNode: () => undefined,
        putContent: ({ id }: { id: number }) => void this.given.add(id),
        putRanges: () => undefined,
        opened: () => undefined,
        done: () => undefined,
        dropContent: (id: number) => !this.isOpen && (this.given.delete(id) || true),
        dropContentBut: () => !this.isShared,
      },
      tree: { real: (node: number) => node, node: async () => this.state, entry: (state: NodeState) => state },
      cache: {
        onEvicting: (mayEvict: (id: number) => boolean) => (this.mayEvict = mayEvict),
        find: ({ seq }: VersionId) => [...this.contents.values()].findLast(({ version }) => version.seq === seq),
        byId: (id: number) => this.contents.get(id),
        verify: async (content: CachedContent) => content,
        create: async (version: VersionId) => hold(this.put(1, version)),
        present: () => [],
        markUnverified: ({ id }: CachedContent) => this.doubted.push(id),
        hold,
        copy: async (from: CachedContent, _at: number, to: CachedContent) => void this.copied.push(from.id, to.id),
      },
      downloads: {
        onStored: () => undefined,
        holdsOlder: () => false,
        read: async ({ id }: CachedContent) => void this.ensured.push(id),
      },
      ownRecipes: { of: async () => undefined },
      readAhead: { opened: () => undefined, arrived: async () => undefined },
      subscriptions: { opened: () => undefined, arrived: async () => undefined },
      session: {
        isResponsive: false,
        async lineIsThere() {
          this.isResponsive = isBack;
        },
      },
      pauses: nothingPaused,
      clock: { bootMs: () => this.nowMs },
      settled: async () => undefined,
    };
    this.subject = new Contents(deps as unknown as ConstructorParameters<typeof Contents>[0]);
  }

  put(id: number, version: VersionId): CachedContent {
    const content = contentOf(id, version);
    this.contents.set(id, content);
    return content;
  }
}

test("it stays until the file is closed, and what it lacks comes from the one that took its place", async () => {
  const place = new Place();
  const open = { op: "open", id: 1, node: NODE, wantsWrite: false };
  await place.subject.open(open as unknown as RequestOfOp<"open">, false);
  // The drive opened the file again by itself: this side has heard of the close only.
  place.subject.closed(NODE);
  expect(place.holds.get(1)).toBe(0);
  place.put(2, { node: NODE, seq: 7 });
  place.put(1, { node: 0, seq: 0 });
  expect(place.mayEvict(1)).toBe(false);
  expect(place.holds.get(1)).toBe(1);
  const fetch = { op: "fetch", id: 2, content: 1, offset: 0, length: SIZE_BYTES, ahead: 0 };
  await place.subject.fetch(fetch as unknown as RequestOfOp<"fetch">);
  expect(place.copied).toEqual([2, 1]);
  place.isOpen = false;
  place.subject.closed(NODE);
  expect(place.holds.get(1)).toBe(0);
  expect(place.mayEvict(1)).toBe(true);
});

test("of a content that became another version's a program gets what it lacks of that one", async () => {
  const place = new Place();
  const open = { op: "open", id: 1, node: NODE, wantsWrite: true };
  await place.subject.open(open as unknown as RequestOfOp<"open">, false);
  const content = place.contents.get(1) as CachedContent;
  const fetch = { op: "fetch", id: 2, content: 1, offset: 0, length: SIZE_BYTES, ahead: 0 };
  const waiting = place.subject.fetch(fetch as unknown as RequestOfOp<"fetch">);
  // Somebody waits for some of it.
  expect(place.subject.release(content, 8, 1)).toBe(false);
  await waiting;
  expect(place.subject.holdsOf(content)).toBe(1);
  place.isShared = true;
  expect(place.subject.release(content, 8, 1)).toBe(false);
  place.isShared = false;
  expect(place.holds.get(1)).toBe(1);
  expect(place.subject.release(content, 8, 1)).toBe(true);
  expect(place.subject.holdsOf(content)).toBe(0);
  expect(place.holds.get(1)).toBe(0);
  place.contents.delete(1);
  place.put(2, { node: NODE, seq: 8 });
  place.ensured.length = 0;
  await place.subject.fetch({ ...fetch, id: 3 } as unknown as RequestOfOp<"fetch">);
  expect(place.ensured).toEqual([2]);
  place.subject.closed(NODE);
  expect(place.holds.get(1)).toBe(0);
});

test("what the drive was given an hour ago is doubted, once no program has it open", async () => {
  const place = new Place();
  const open = { op: "open", id: 1, node: NODE, wantsWrite: false };
  await place.subject.open(open as unknown as RequestOfOp<"open">, false);
  place.nowMs += 59 * 60_000;
  // Given once more, it is believed no longer.
  await place.subject.open(open as unknown as RequestOfOp<"open">, false);
  place.subject.markOldUnverified();
  place.nowMs += 60_000;
  place.subject.markOldUnverified();
  expect(place.doubted).toEqual([]);
  place.isOpen = false;
  place.subject.markOldUnverified();
  place.subject.markOldUnverified();
  expect(place.doubted).toEqual([1]);
  // The drive has told of no close: the program had given up before its file was open.
  expect([place.holds.get(1), place.subject.isOpen(NODE)]).toEqual([0, false]);
  await place.subject.open(open as unknown as RequestOfOp<"open">, false);
  place.subject.markOldUnverified();
  expect(place.doubted).toEqual([1]);
});

test("a file that is not here waits for a line that has just broken, also under a lease", async () => {
  const open = { op: "open", id: 1, node: NODE, wantsWrite: false } as unknown as RequestOfOp<"open">;
  const back = new Place(true);
  await back.subject.open(open, true);
  expect(back.holds.get(1)).toBe(1);
  await expect(new Place(false).subject.open(open, true)).rejects.toMatchObject({ kind: "Unreachable" });
});

test("of what was just saved the drive has the last ones, and those that are open", () => {
  const place = new Place();
  place.subject.giveSaved(place.put(1, { node: NODE, seq: 1 }));
  for (let id = 2; id <= 4096; id++) place.subject.giveSaved(place.put(id, { node: NODE + id, seq: id }));
  place.subject.giveSaved(place.put(4097, { node: NODE + 4097, seq: 4097 }));
  expect(place.given.size).toBe(4097);
  place.isOpen = false;
  place.subject.giveSaved(place.put(4098, { node: NODE + 4098, seq: 4098 }));
  expect([1, 2, 3, 4098].map((id) => place.given.has(id))).toEqual([true, false, true, true]);
});
