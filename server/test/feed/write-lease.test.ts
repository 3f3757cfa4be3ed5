// The write lease of a volume on a simulated clock: who gets it, who waits for it, and for how long.
import { describe, expect, test } from "@jest/globals";
import { Follower, Scene, TERM_MS, changeOf } from "./followers.ts";

const GRANTED = { isGranted: true, isContinued: false };
const CONTINUED = { isGranted: true, isContinued: true };
const MINUTE_MS = 60_000;

/** Waits until nobody else has the write lease. */
class Waiter {
  isServed = false;

  constructor(scene: Scene, follower: Follower) {
    void scene.feed.writeLease.shared(follower.holder).then(() => (this.isServed = true));
  }
}

function acquire(scene: Scene, follower: Follower): unknown {
  return scene.feed.writeLease.acquire(follower.holder);
}

async function waiterFor(scene: Scene, follower: Follower): Promise<Waiter> {
  const waiter = new Waiter(scene, follower);
  await scene.clock.advance(0);
  return waiter;
}

describe("the write lease", () => {
  test("[W180] is for who follows all with a lease, alone; asked for again it is had still", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    expect(acquire(scene, one)).toEqual(GRANTED);
    expect(acquire(scene, one)).toEqual(CONTINUED);
    const other = scene.follower("other", "all", false);
    expect(acquire(scene, other)).toMatchObject({ isGranted: false });
  });

  test.each(["follows some folders", "has no lease"])("[W180] is refused to one that %s", (how) => {
    const scene = new Scene();
    const one = scene.follower("one", how === "has no lease" ? "all" : [1], how !== "has no lease");
    expect(acquire(scene, one)).toMatchObject({ isGranted: false });
  });

  test("[W180] is refused while another has a lease, or a change under way, and while no leases are given", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    const other = scene.follower("other", [9]);
    expect(acquire(scene, one)).toMatchObject({ isGranted: false });
    scene.feed.idle(other.holder);
    Object.assign(other, { isChanging: () => true });
    expect(acquire(scene, one)).toMatchObject({ isGranted: false });
    Object.assign(other, { isChanging: () => false });
    scene.feed.withdraw();
    expect(acquire(scene, one)).toMatchObject({ isGranted: false });
    scene.feed.restore();
    expect(acquire(scene, one)).toEqual(GRANTED);
  });

  test("[W181] is recalled once for all who ask, who are served when it is given up", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const other = scene.follower("other", "all", false);
    const waiters = [await waiterFor(scene, other), await waiterFor(scene, other)];
    expect(one.said).toEqual([["recall"]]);
    await scene.clock.advance(5_000);
    expect(waiters.map(({ isServed }) => isServed)).toEqual([false, false]);
    scene.feed.writeLease.release(one.holder);
    await scene.clock.advance(0);
    expect(waiters.map(({ isServed }) => isServed)).toEqual([true, true]);
  });

  test("[W181] keeps nobody out whose own it is, nor when it is nobody's", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    expect((await waiterFor(scene, one)).isServed).toBe(true);
    acquire(scene, one);
    expect((await waiterFor(scene, one)).isServed).toBe(true);
    expect(one.said).toEqual([]);
  });

  test.each(["says idle", "leaves", "is revoked"])("[W181] ends with one that %s", async (how) => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    if (how === "says idle") scene.feed.idle(one.holder);
    else if (how === "leaves") scene.feed.detach(one.holder, true);
    else scene.feed.drop("of one");
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] of one whose connection is lost is waited for as long as its lease lasts", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    await scene.clock.advance(5_000);
    scene.feed.detach(one.holder, false);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    await scene.clock.advance(TERM_MS - 5_001);
    expect(waiter.isServed).toBe(false);
    await scene.clock.advance(1);
    expect(waiter.isServed).toBe(true);
  });

  test("[W180] is had still by an instance that attaches again under its lease, and recalled there", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    scene.feed.detach(one.holder, false);
    const again = new Follower(scene.feed, "one").follows("all");
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    expect(again.said).toEqual([["recall"]]);
    scene.feed.writeLease.release(one.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(false);
    scene.feed.writeLease.release(again.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] that is recalled is asked back of an instance that attaches again meanwhile", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    scene.feed.detach(one.holder, false);
    const again = new Follower(scene.feed, "one");
    expect(again.said).toEqual([["recall"]]);
    scene.feed.writeLease.release(again.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] that was recalled is renewed while its holder sends changes, and not after a term without one", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    for (let step = 1; step <= 2; step++) {
      await scene.clock.advance(TERM_MS - 1_000);
      expect(one.renew()).toBe(true);
      await scene.commit(changeOf(step, 1), one);
      one.ack(step);
    }
    expect(waiter.isServed).toBe(false);
    await scene.clock.advance(TERM_MS - 1_000);
    expect(one.renew()).toBe(true);
    await scene.clock.advance(1_001);
    expect(one.renew()).toBe(false);
    await scene.clock.advance(TERM_MS);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] that was recalled is not renewed after a minute, although its holder goes on sending changes", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    let step = 0;
    for (let atMs = 0; atMs <= MINUTE_MS - 10_000; atMs += 10_000) {
      expect(one.renew()).toBe(true);
      await scene.clock.advance(10_000);
      await scene.commit(changeOf(++step, 1), one);
      one.ack(step);
    }
    expect(waiter.isServed).toBe(false);
    await scene.clock.advance(1);
    expect(one.renew()).toBe(false);
    await scene.clock.advance(TERM_MS);
    expect(waiter.isServed).toBe(true);
  });

  test("[W180] [W181] is refused for a minute after two recalls within one", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    const other = scene.follower("other", "all", false);
    for (let round = 0; round < 2; round++) {
      expect(acquire(scene, one)).toEqual(GRANTED);
      await waiterFor(scene, other);
      scene.feed.writeLease.release(one.holder);
      await scene.clock.advance(10_000);
      one.renew();
    }
    expect(acquire(scene, one)).toEqual({ isGranted: false, retryAfterMs: MINUTE_MS - 20_000 });
    await scene.clock.advance(MINUTE_MS - 20_001);
    one.renew();
    expect(acquire(scene, one)).toEqual({ isGranted: false, retryAfterMs: 1 });
    await scene.clock.advance(1);
    expect(acquire(scene, one)).toEqual(GRANTED);
  });

  test.each([
    ["others waited", "of other"],
    ["instances of its own waited", "of one"],
  ])("[W180] is refused to a device for whose recalls others waited too long: here %s", async (_case, device) => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    const asker = new Follower(scene.feed, "other", 0, undefined, device);
    const granted: boolean[] = [];
    let seq = 0;
    for (let round = 0; round < 5; round++) {
      one.renew();
      granted.push(scene.feed.writeLease.acquire(one.holder).isGranted);
      await waiterFor(scene, asker);
      for (let step = 0; step < 5; step++) {
        await scene.clock.advance(10_000);
        one.renew();
        await scene.commit(changeOf(++seq, 1), one);
        one.ack(seq);
      }
      scene.feed.writeLease.release(one.holder);
      await scene.clock.advance(20_000);
    }
    const isOwn = device === "of one";
    expect(granted).toEqual([true, true, true, isOwn, isOwn]);
    await scene.clock.advance(10 * MINUTE_MS);
    one.renew();
    expect(acquire(scene, one)).toEqual(GRANTED);
  });

  test("[W182] says to who waits whom for, again and again", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    acquire(scene, one);
    const other = scene.follower("other", "all", false);
    await waiterFor(scene, other);
    await scene.clock.advance(199);
    expect(other.said).toEqual([]);
    const untilMs = Number(scene.clock.wallNs() / 1_000_000n) + TERM_MS - 199;
    await scene.clock.advance(1_001);
    expect(other.said).toEqual(Array.from({ length: 3 }, () => ["waiting", 0, ["one's laptop"], untilMs]));
    scene.feed.writeLease.release(one.holder);
    await scene.clock.advance(5_000);
    expect(other.said).toHaveLength(3);
  });

  test("[W180] [W183] from before a restart may have been given up since: it is continued only from the first answer on", () => {
    const scene = new Scene([{ instance: "one", termMs: TERM_MS, hasWriteLease: true }]);
    const one = new Follower(scene.feed, "one");
    expect([acquire(scene, one), acquire(scene, one)]).toEqual([GRANTED, CONTINUED]);
  });

  test("[W183] from before a restart counts for a term, or until its instance gives it up", async () => {
    for (const comesBack of [false, true]) {
      const before = { termMs: TERM_MS, hasWriteLease: true };
      const scene = new Scene([
        { instance: "one", ...before },
        { instance: "other", termMs: TERM_MS },
      ]);
      const other = new Follower(scene.feed, "other");
      const waiter = await waiterFor(scene, other);
      if (comesBack) {
        const one = new Follower(scene.feed, "one");
        expect(one.said).toEqual([["recall"]]);
        scene.feed.writeLease.release(one.holder);
        await scene.clock.advance(0);
      } else {
        await scene.clock.advance(TERM_MS - 1);
        expect(waiter.isServed).toBe(false);
        await scene.clock.advance(1);
      }
      expect(waiter.isServed).toBe(true);
    }
  });
});
