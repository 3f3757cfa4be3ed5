// Followers of a view: what they are sent and how often, and that one that never reads costs nothing.
import { describe, expect, test } from "@jest/globals";
import { type Call, SimulatedClock } from "@runnel/shared";
import type { LiveTransfer } from "../../src/agent/view/transfers.ts";
import { type ViewPart, Views } from "../../src/agent/view/views.ts";
import { VIEW_LISTS } from "../../src/agent/view/view-state.ts";
import { FakeMount } from "../control/fake-mount.ts";

const SETTINGS = {
  url: "ws://localhost:1/docs",
  mountpoint: "/mnt/docs",
  cacheFolder: "/cache",
  cacheBytes: 0,
  stateFolder: "/state",
  writeMode: "sync" as const,
  mapOwner: false,
  isAsync: false,
};

class Follower {
  readonly parts: ViewPart[] = [];
  readonly ending = new AbortController();
  /** Resolves each part; undefined: at once. */
  reads: Promise<void> = Promise.resolve();
  readonly call: Call<ViewPart> = {
    signal: this.ending.signal,
    part: async (part) => {
      this.parts.push(part);
      await this.reads;
    },
  };
}

function moving(id: number, doneBytes = 0, path = "a"): LiveTransfer {
  const rest = { files: 1, totalBytes: 100, reusedBytes: 0, bytesPerSecond: 1, leftMs: 1000, waitsFor: [] };
  return { id, direction: "up", path, doneBytes, ...rest };
}

const LEFT = { url: "ws://localhost:1/docs", mountpoint: "/mnt/left" };
const KEPT = { url: "ws://localhost:1/films", mountpoint: "/mnt/films" };

function rig(): { clock: SimulatedClock; mount: FakeMount; views: Views; asked(): number } {
  const clock = new SimulatedClock();
  const mount = new FakeMount(SETTINGS);
  let asked = 0;
  const listed = mount.transfers.bind(mount);
  mount.transfers = () => {
    asked++;
    return listed();
  };
  const views = new Views({ clock, mounts: () => [mount], lost: () => [], resting: () => [], lately: () => [] });
  return { clock, mount, views, asked: () => asked };
}

describe("a follower", () => {
  test("gets a snapshot, then what changes, at most four times a second", async () => {
    const { clock, mount, views } = rig();
    const follower = new Follower();
    const following = views.follow(VIEW_LISTS, follower.call);
    await clock.advance(1);
    expect(follower.parts).toMatchObject([
      { snapshot: { head: { state: "fine" }, lists: { drives: [{ key: "/mnt/docs" }], transfers: [], lately: [] } } },
    ]);
    for (let doneBytes = 0; doneBytes < 100; doneBytes++) {
      mount.moving = [moving(1, doneBytes, "a\nb\u0007")];
      await clock.advance(10);
    }
    expect(follower.parts.length).toBeLessThanOrEqual(5);
    expect(follower.parts.at(-1)).toMatchObject({
      changes: { lists: { transfers: { put: [{ key: "1", path: "a\nb\u0007", mountpoint: "/mnt/docs" }], gone: [] } } },
    });
    mount.moving = [];
    await clock.advance(300);
    expect(follower.parts.at(-1)).toMatchObject({ changes: { lists: { transfers: { put: [], gone: ["1"] } } } });
    const { length } = follower.parts;
    await clock.advance(10_000);
    expect(follower.parts).toHaveLength(length);
    follower.ending.abort();
    await following;
    await clock.advance(10);
    expect(clock.pendingTimers).toBe(0);
  });

  test("sees the drives that are not mapped now, and why", async () => {
    const clock = new SimulatedClock();
    const deps = { clock, mounts: () => [], lost: () => [LEFT], resting: () => [KEPT], lately: () => [] };
    const follower = new Follower();
    const following = new Views(deps).follow(["unmapped", "drives"], follower.call);
    await clock.advance(1);
    const unmapped = [
      { key: LEFT.mountpoint, url: LEFT.url, isLost: true },
      { key: KEPT.mountpoint, url: KEPT.url, isLost: false },
    ];
    expect(follower.parts).toMatchObject([{ snapshot: { head: { act: "drives" }, lists: { unmapped, drives: [] } } }]);
    follower.ending.abort();
    await following;
  });

  test("gets the lists that it wants", async () => {
    const { clock, views } = rig();
    const follower = new Follower();
    const following = views.follow(["transfers"], follower.call);
    await clock.advance(1);
    const [part] = follower.parts;
    expect(part !== undefined && "snapshot" in part && Object.keys(part.snapshot.lists)).toEqual(["transfers"]);
    follower.ending.abort();
    await following;
  });

  test("that never reads is sent one part, and the state of then once it reads, as a snapshot where that is less", async () => {
    const { clock, mount, views } = rig();
    const follower = new Follower();
    const { promise, resolve } = Promise.withResolvers<void>();
    follower.reads = promise;
    const following = views.follow(VIEW_LISTS, follower.call);
    for (let id = 0; id < 1000; id++) {
      mount.moving = Array.from({ length: 100 }, (_, index) => moving(id * 100 + index, id));
      await clock.advance(100);
    }
    expect(follower.parts).toHaveLength(1);
    follower.reads = Promise.resolve();
    resolve();
    await clock.advance(300);
    mount.moving = Array.from({ length: 100 }, (_, index) => moving(900_000 + index));
    await clock.advance(300);
    expect(follower.parts).toHaveLength(3);
    expect(follower.parts[2]).toMatchObject({ snapshot: { lists: { transfers: expect.any(Array) } } });
    follower.ending.abort();
    await following;
  });

  test("costs nothing once it has gone, and many cost as much as one", async () => {
    const { clock, views, asked } = rig();
    const followers = Array.from({ length: 64 }, () => new Follower());
    const following = followers.map(({ call }) => views.follow(VIEW_LISTS, call));
    await expect(views.follow(VIEW_LISTS, new Follower().call)).rejects.toMatchObject({ kind: "Busy" });
    await clock.advance(1000);
    expect(asked()).toBeLessThanOrEqual(6);
    for (const { ending } of followers) ending.abort();
    await Promise.all(following);
    const before = asked();
    await clock.advance(10_000);
    expect(asked()).toBe(before);
  });

  test("sees a drive go that fails to say how it is", async () => {
    const { clock, mount, views } = rig();
    const follower = new Follower();
    const following = views.follow(["drives"], follower.call);
    await clock.advance(1);
    mount.status = async () => {
      throw new Error("It has ended.");
    };
    await clock.advance(2000);
    expect(follower.parts.at(-1)).toMatchObject({ snapshot: { lists: { drives: [] } } });
    follower.ending.abort();
    await following;
  });
});
