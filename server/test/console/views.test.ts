// Pages that follow the server, what they are sent and when: the state, then its changes, made once for all of them.
import { beforeEach, expect, test } from "@jest/globals";
import { applied, type Call, SimulatedClock, type ViewItem, type ViewState } from "@runnel/shared";
import { type ConsolePart, VIEW_EVERY_MS, Views, type ViewsDeps } from "../../src/console/views.ts";

const PART_BYTES_MAX = 32 * 1024;
const ITEMS_MAX = 10_000;

let clock: SimulatedClock;
let views: Views;
let connections: ViewItem[];
let made: number;

class Follower {
  readonly parts: ConsolePart[] = [];
  readonly ending = new AbortController();
  /** Resolves each part. */
  reads: Promise<void> = Promise.resolve();
  state: ViewState | undefined;
  readonly call: Call<ConsolePart> = {
    signal: this.ending.signal,
    part: async (part) => {
      this.parts.push(part);
      if ("snapshot" in part) this.state = part.snapshot;
      else if (this.state !== undefined) this.state = applied(this.state, part.changes);
      await this.reads;
    },
  };
}

beforeEach(() => {
  clock = new SimulatedClock();
  connections = rows(2);
  made = 0;
  const live = {
    connections: () => {
      made++;
      return connections.map((row) => ({ ...row }));
    },
  };
  const overview = { volumes: async () => [{ key: "docs" }, { key: "plans" }], overview: async () => ({ devices: 1 }) };
  const deps = { clock, engines: { live, overview }, people: { list: () => ["ada"] } };
  views = new Views(deps as unknown as ViewsDeps);
});

function rows(count: number): ViewItem[] {
  return Array.from({ length: count }, (_, index) => ({ key: `${index}`, sentBytes: 0 }));
}

test("a page gets the state, then what changes, once a second, until it goes", async () => {
  const page = new Follower();
  const following = views.follow(["connections"], page.call);
  await clock.advance(1);
  expect(page.parts).toEqual([
    { snapshot: { head: { devices: 1, people: 1 }, lists: { connections: rows(2) }, omitted: {} } },
  ]);
  await clock.advance(3 * VIEW_EVERY_MS);
  expect(page.parts).toHaveLength(1);
  connections = [{ key: "1", sentBytes: 5 } as ViewItem, { key: "new" }];
  await clock.advance(VIEW_EVERY_MS);
  expect(page.parts.slice(1)).toEqual([
    { changes: { lists: { connections: { put: [], gone: ["0"] } } } },
    { changes: { lists: { connections: { put: connections, gone: [] } } } },
  ]);
  page.ending.abort();
  await following;
  await clock.advance(10 * VIEW_EVERY_MS);
  expect(page.parts).toHaveLength(3);
});

test("a long list comes in short parts, and no more of it than can be shown", async () => {
  connections = rows(ITEMS_MAX + 5);
  const page = new Follower();
  const following = views.follow(["connections"], page.call);
  await clock.advance(1);
  expect(page.parts.length).toBeLessThan(ITEMS_MAX / 100);
  for (const part of page.parts) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(PART_BYTES_MAX);
  expect(page.state).toMatchObject({ omitted: { connections: 5 } });
  expect(page.state?.lists["connections"]).toEqual(rows(ITEMS_MAX));
  const sent = page.parts.length;
  connections = [];
  await clock.advance(VIEW_EVERY_MS);
  expect(page.parts.length).toBeGreaterThan(sent + 1);
  for (const part of page.parts) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(PART_BYTES_MAX);
  expect(page.state).toMatchObject({ lists: { connections: [] }, omitted: {} });
  page.ending.abort();
  await following;
});

test("a first part is short, however long the items of its lists are", async () => {
  connections = Array.from({ length: 200 }, (_, index) => ({ key: `${index}`, path: "ü".repeat(1_000) }));
  const page = new Follower();
  const following = views.follow(["volumes", "connections"], page.call);
  await clock.advance(1);
  const [first] = page.parts;
  expect(first).toMatchObject({ snapshot: { lists: { volumes: [{ key: "docs" }, { key: "plans" }] } } });
  for (const part of page.parts) expect(Buffer.byteLength(JSON.stringify(part))).toBeLessThan(PART_BYTES_MAX);
  expect(page.state?.lists["connections"]).toEqual(connections);
  page.ending.abort();
  await following;
});

test("a state is made once for all who follow, and not while nobody does", async () => {
  const pages = Array.from({ length: 10 }, () => new Follower());
  const following = pages.map((page) => views.follow(["connections"], page.call));
  await clock.advance(10 * VIEW_EVERY_MS + 1);
  expect(made).toBe(11);
  for (const page of pages) page.ending.abort();
  await Promise.all(following);
  await clock.advance(10 * VIEW_EVERY_MS);
  expect(made).toBe(11);
});

test("a page that does not read is sent nothing more, and then all that has changed at once", async () => {
  const page = new Follower();
  const reading = Promise.withResolvers<void>();
  page.reads = reading.promise;
  const following = views.follow(["connections"], page.call);
  for (let second = 0; second < 20; second++) {
    connections = [{ key: "0", sentBytes: second } as ViewItem];
    await clock.advance(VIEW_EVERY_MS);
  }
  expect(page.parts).toHaveLength(1);
  page.reads = Promise.resolve();
  reading.resolve();
  await clock.advance(2 * VIEW_EVERY_MS);
  expect(page.state?.lists["connections"]).toEqual(connections);
  expect(page.parts.length).toBeLessThan(5);
  page.ending.abort();
  await following;
});

test("too many pages are refused, and who is no admin is shown volumes alone", async () => {
  const pages = Array.from({ length: 256 }, () => new Follower());
  const following = pages.map((page) =>
    views.followVolumes((volumes) => volumes.filter(({ key }) => key === "plans"), page.call),
  );
  await clock.advance(1);
  expect(pages[0]?.parts).toEqual([{ snapshot: { head: null, lists: { volumes: [{ key: "plans" }] }, omitted: {} } }]);
  await expect(views.follow([], new Follower().call)).rejects.toMatchObject({ kind: "Busy" });
  for (const page of pages) page.ending.abort();
  await Promise.all(following);
  const late = new Follower();
  const again = views.follow([], late.call);
  await clock.advance(1);
  late.ending.abort();
  await again;
  expect(late.parts).toHaveLength(1);
});
