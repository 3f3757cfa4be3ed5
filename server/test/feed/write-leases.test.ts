// The write leases of a volume on a simulated clock: who gets it, who waits for it, and for how long.
import { describe, expect, test } from "@jest/globals";
import { LIMITS, type NodeState, ROOT_NODE } from "@runnel/shared";
import { parseRecord } from "../../src/feed/write-leases.ts";
import type { Touched } from "../../src/feed/touched.ts";
import { Follower, Scene, TERM_MS, changeOf, relinked } from "./followers.ts";

const GRANTED = { isGranted: true, isContinued: false };
const CONTINUED = { isGranted: true, isContinued: true };
const MINUTE_MS = 60_000;

/** Waits until nobody else has the write lease. */
class Waiter {
  isServed = false;

  constructor(scene: Scene, follower: Follower, touched?: Touched) {
    void scene.feed.writeLeases.shared(follower.holder, touched).then(() => (this.isServed = true));
  }
}

async function acquire(scene: Scene, follower: Follower, folder = ROOT_NODE): Promise<unknown> {
  const { writeLeases } = scene.feed;
  const answer = await writeLeases.acquire(follower.holder, folder);
  if (!answer.isGranted) return answer;
  if (!answer.isContinued) writeLeases.confirm(answer.lease);
  const { isContinued } = answer;
  return answer.folder === ROOT_NODE ? { isGranted: true, isContinued } : { folder: answer.folder, isContinued };
}

async function waiterFor(scene: Scene, follower: Follower, touched?: Touched): Promise<Waiter> {
  const waiter = new Waiter(scene, follower, touched);
  await scene.clock.advance(0);
  return waiter;
}

describe("a write lease on the root", () => {
  test("[W180] is for who follows all with a lease, alone; asked for again it is had still", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    expect(await acquire(scene, one)).toEqual(GRANTED);
    expect(await acquire(scene, one)).toEqual(CONTINUED);
    const other = scene.follower("other", "all", false);
    expect(await acquire(scene, other)).toMatchObject({ isGranted: false });
  });

  test.each(["follows some folders", "has no lease"])("[W180] is refused to one that %s", async (how) => {
    const scene = new Scene();
    const one = scene.follower("one", how === "has no lease" ? "all" : [1], how !== "has no lease");
    expect(await acquire(scene, one)).toMatchObject({ isGranted: false });
  });

  test("[W180] is refused while another has a lease, or a change under way, and while no leases are given", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    const other = scene.follower("other", [9]);
    expect(await acquire(scene, one)).toMatchObject({ isGranted: false });
    scene.feed.idle(other.holder);
    Object.assign(other, { isChanging: () => true });
    expect(await acquire(scene, one)).toMatchObject({ isGranted: false });
    Object.assign(other, { isChanging: () => false });
    scene.feed.withdraw();
    expect(await acquire(scene, one)).toMatchObject({ isGranted: false });
    scene.feed.restore();
    expect(await acquire(scene, one)).toEqual(GRANTED);
  });

  test("[W181] is recalled once for all who ask, who are served when it is given up", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    await acquire(scene, one);
    const other = scene.follower("other", "all", false);
    const waiters = [await waiterFor(scene, other), await waiterFor(scene, other)];
    expect(one.said).toEqual([["recall", ROOT_NODE]]);
    await scene.clock.advance(5_000);
    expect(waiters.map(({ isServed }) => isServed)).toEqual([false, false]);
    scene.feed.writeLeases.release(one.holder);
    await scene.clock.advance(0);
    expect(waiters.map(({ isServed }) => isServed)).toEqual([true, true]);
  });

  test("[W181] keeps nobody out whose own it is, nor when it is nobody's", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    expect((await waiterFor(scene, one)).isServed).toBe(true);
    await acquire(scene, one);
    expect((await waiterFor(scene, one)).isServed).toBe(true);
    expect(one.said).toEqual([]);
  });

  test.each(["says idle", "leaves", "is revoked"])("[W181] ends with one that %s", async (how) => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    await acquire(scene, one);
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
    await acquire(scene, one);
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
    await acquire(scene, one);
    scene.feed.detach(one.holder, false);
    const again = new Follower(scene.feed, "one").follows("all");
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    expect(again.said).toEqual([["recall", ROOT_NODE]]);
    scene.feed.writeLeases.release(one.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(false);
    scene.feed.writeLeases.release(again.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] that is recalled is asked back of an instance that attaches again meanwhile", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    await acquire(scene, one);
    const waiter = await waiterFor(scene, scene.follower("other", "all", false));
    scene.feed.detach(one.holder, false);
    const again = new Follower(scene.feed, "one");
    expect(again.said).toEqual([["recall", ROOT_NODE]]);
    scene.feed.writeLeases.release(again.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] that was recalled is renewed while its holder sends changes, and not after a term without one", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    await acquire(scene, one);
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
    await acquire(scene, one);
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
      expect(await acquire(scene, one)).toEqual(GRANTED);
      await waiterFor(scene, other);
      scene.feed.writeLeases.release(one.holder);
      await scene.clock.advance(10_000);
      one.renew();
    }
    expect(await acquire(scene, one)).toEqual({ isGranted: false, retryAfterMs: MINUTE_MS - 20_000 });
    await scene.clock.advance(MINUTE_MS - 20_001);
    one.renew();
    expect(await acquire(scene, one)).toEqual({ isGranted: false, retryAfterMs: 1 });
    await scene.clock.advance(1);
    expect(await acquire(scene, one)).toEqual(GRANTED);
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
      granted.push(JSON.stringify(await acquire(scene, one)) === JSON.stringify(GRANTED));
      await waiterFor(scene, asker);
      for (let step = 0; step < 5; step++) {
        await scene.clock.advance(10_000);
        one.renew();
        await scene.commit(changeOf(++seq, 1), one);
        one.ack(seq);
      }
      scene.feed.writeLeases.release(one.holder);
      await scene.clock.advance(20_000);
    }
    const isOwn = device === "of one";
    expect(granted).toEqual([true, true, true, isOwn, isOwn]);
    await scene.clock.advance(10 * MINUTE_MS);
    one.renew();
    expect(await acquire(scene, one)).toEqual(GRANTED);
  });

  test("[W182] says to who waits whom for, again and again", async () => {
    const scene = new Scene();
    const one = scene.follower("one", "all");
    await acquire(scene, one);
    const other = scene.follower("other", "all", false);
    await waiterFor(scene, other);
    await scene.clock.advance(199);
    expect(other.said).toEqual([]);
    const untilMs = Number(scene.clock.wallNs() / 1_000_000n) + TERM_MS - 199;
    await scene.clock.advance(1_001);
    expect(other.said).toEqual(Array.from({ length: 3 }, () => ["waiting", 0, ["one's laptop"], untilMs]));
    scene.feed.writeLeases.release(one.holder);
    await scene.clock.advance(5_000);
    expect(other.said).toHaveLength(3);
  });

  test("[W180] [W183] from before a restart may have been given up since: it is continued only from the first answer on", async () => {
    const scene = new Scene([{ instance: "one", termMs: TERM_MS, writeLeases: [ROOT_NODE] }]);
    const one = new Follower(scene.feed, "one").follows("all", false);
    expect([await acquire(scene, one), await acquire(scene, one)]).toEqual([GRANTED, CONTINUED]);
  });

  test("[W183] from before a restart counts for a term, or until its instance gives it up", async () => {
    for (const comesBack of [false, true]) {
      const before = { termMs: TERM_MS, writeLeases: [ROOT_NODE] };
      const scene = new Scene([
        { instance: "one", ...before },
        { instance: "other", termMs: TERM_MS },
      ]);
      const other = new Follower(scene.feed, "other");
      const waiter = await waiterFor(scene, other);
      if (comesBack) {
        const one = new Follower(scene.feed, "one");
        expect(one.said).toEqual([["recall", ROOT_NODE]]);
        scene.feed.writeLeases.release(one.holder);
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

const [ONES, BELOW, OTHERS] = [10, 11, 20];
/** Files in the folders, one in two of them, and one in the root. */
const [ONES_FILE, OTHERS_FILE, BOTHS_FILE, ROOT_FILE] = [100, 101, 102, 103];

/** Two who follow all with a lease, and know of the leases of others. */
class Shared extends Scene {
  readonly one: Follower;
  readonly other: Follower;

  constructor(attached: ConstructorParameters<typeof Scene>[0] = []) {
    super(attached);
    for (const [node, ...folders] of [
      [ONES, ROOT_NODE],
      [BELOW, ONES],
      [OTHERS, ROOT_NODE],
      [ONES_FILE, BELOW],
      [OTHERS_FILE, OTHERS],
      [BOTHS_FILE, BELOW, OTHERS],
      [ROOT_FILE, ROOT_NODE],
    ] as const)
      this.places.set(node, folders);
    this.one = this.attach("one");
    this.other = this.attach("other");
  }

  attach(instance: string, hasLease = true): Follower {
    return new Follower(this.feed, instance, 0, undefined, `of ${instance}`, true).follows("all", hasLease);
  }

  /** Each has the folder that it works in. */
  async split(): Promise<void> {
    expect(await acquire(this, this.one, ONES)).toEqual({ folder: ONES, isContinued: false });
    expect(await acquire(this, this.other, OTHERS)).toEqual({ folder: OTHERS, isContinued: false });
  }
}

describe("write leases on folders", () => {
  test("[W180] are on the root for one alone, on the uppermost folder that may be had for two, whatever is asked for", async () => {
    const scene = new Shared();
    scene.feed.idle(scene.other.holder);
    expect(await acquire(scene, scene.one, BELOW)).toEqual(GRANTED);
    scene.feed.writeLeases.release(scene.one.holder, ROOT_NODE);
    scene.other.renew();
    expect(await acquire(scene, scene.one, BELOW)).toEqual({ folder: ONES, isContinued: false });
    expect(await acquire(scene, scene.one, BELOW)).toEqual({ folder: ONES, isContinued: true });
    expect(await acquire(scene, scene.other, OTHERS)).toEqual({ folder: OTHERS, isContinued: false });
    for (const folder of [ROOT_NODE, ONES, BELOW])
      expect(await acquire(scene, scene.other, folder)).toMatchObject({ isGranted: false });
    expect(scene.feed.writeLeases.record).toBe(`one:${ONES} other:${OTHERS}`);
    expect(["one", "other", "third"].map((each) => parseRecord(scene.feed.writeLeases.record, each))).toEqual([
      [ONES],
      [OTHERS],
      [],
    ]);
    expect(parseRecord("", "one")).toEqual([]);
  });

  test("[W180] are never on what is above one of somebody else's", async () => {
    const scene = new Shared();
    scene.places.set(12, [ONES]);
    scene.feed.idle(scene.other.holder);
    const work = scene.feed.writeLeases.works(scene.other.holder, async () => ({ nodes: [BELOW] }));
    expect(await acquire(scene, scene.one, 12)).toEqual({ folder: 12, isContinued: false });
    work[Symbol.dispose]();
    scene.other.renew();
    expect(await acquire(scene, scene.other, BELOW)).toEqual({ folder: BELOW, isContinued: false });
    expect(await acquire(scene, scene.one, ONES)).toMatchObject({ isGranted: false });
  });

  test.each([
    ["a change of what is below", { nodes: [ONES_FILE] }],
    ["a change at another name of a file", { nodes: [BOTHS_FILE] }],
    ["a change of all below the root", { nodes: [], deep: [ROOT_NODE] }],
  ])("[W180] are refused while another has %s under way", async (_what, touched) => {
    const scene = new Shared();
    using work = scene.feed.writeLeases.works(scene.other.holder, async () => touched);
    expect(work).toBeDefined();
    expect(await acquire(scene, scene.one, BELOW)).toMatchObject({ isGranted: false });
  });

  test("[W192] are granted when all others with a lease have heard of them, and refused when that takes a second", async () => {
    const scene = new Shared();
    scene.other.hears = false;
    const answers: unknown[] = [];
    void acquire(scene, scene.one, ONES).then((answer) => answers.push(answer));
    await scene.clock.advance(999);
    expect([answers, scene.other.said]).toEqual([[], [["others", [ONES]]]]);
    await scene.clock.advance(1);
    expect(answers).toMatchObject([{ isGranted: false }]);
    expect(scene.other.said.at(-1)).toEqual(["others", []]);
    void acquire(scene, scene.one, ONES).then((answer) => answers.push(answer));
    await scene.clock.advance(500);
    scene.feed.writeLeases.heard(scene.other.holder, 3);
    await scene.clock.advance(0);
    expect(answers.at(-1)).toEqual({ folder: ONES, isContinued: false });
    expect(scene.one.said).toEqual([]);
  });

  test("[W180] [W192] are refused while one is away with a lease, or knows nothing of them; told to who comes later", async () => {
    const scene = new Shared();
    scene.feed.detach(scene.other.holder, false);
    expect(await acquire(scene, scene.one, ONES)).toMatchObject({ isGranted: false });
    const again = scene.attach("other");
    const old = scene.follower("old", "all");
    expect(await acquire(scene, scene.one, ONES)).toMatchObject({ isGranted: false });
    scene.feed.idle(old.holder);
    expect(await acquire(scene, scene.one, ONES)).toEqual({ folder: ONES, isContinued: false });
    expect(again.said).toEqual([["others", [ONES]]]);
    expect(scene.attach("late").said).toEqual([["others", [ONES]]]);
    expect(old.said).toEqual([]);
  });

  test("[W181] are recalled by who looks below them, alone; what is elsewhere waits for nobody", async () => {
    const scene = new Shared();
    await scene.split();
    const third = scene.attach("third");
    const elsewhere = await waiterFor(scene, third, { nodes: [ROOT_FILE, ROOT_NODE] });
    expect(elsewhere.isServed).toBe(true);
    const waiter = await waiterFor(scene, scene.other, { nodes: [ONES_FILE] });
    expect([waiter.isServed, scene.one.said]).toEqual([
      false,
      [
        ["others", [OTHERS]],
        ["recall", ONES],
      ],
    ]);
    expect(scene.other.said.some(([what]) => what === "recall")).toBe(false);
    scene.feed.writeLeases.release(scene.one.holder, OTHERS);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(false);
    scene.feed.writeLeases.release(scene.one.holder, ONES);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
    expect(scene.feed.writeLeases.record).toBe(`other:${OTHERS}`);
    expect(scene.other.said.at(-1)).toEqual(["others", []]);
  });

  test.each<[string, Touched, ("one" | "other")[]]>([
    ["a file with names in both folders", { nodes: [BOTHS_FILE] }, ["one", "other"]],
    ["the folder itself", { nodes: [ONES] }, ["one"]],
    ["a folder above with all below it", { nodes: [], deep: [ROOT_NODE] }, ["one", "other"]],
    ["a folder beside", { nodes: [ROOT_NODE] }, []],
  ])("[W181] [W193] are recalled by who touches %s", async (_what, touched, recalled) => {
    const scene = new Shared();
    await scene.split();
    await waiterFor(scene, scene.attach("third"), touched);
    const { one, other } = scene;
    const names = (
      [
        ["one", one],
        ["other", other],
      ] as const
    ).filter(([, { said }]) => said.some(([what]) => what === "recall"));
    expect(names.map(([name]) => name)).toEqual(recalled);
  });

  test("[W193] are given up by who moves something between what it has and what it has not, and not within", async () => {
    const scene = new Shared();
    await scene.split();
    const { writeLeases } = scene.feed;
    const within: Touched = { nodes: [ONES, BELOW], deep: [ONES_FILE], moves: [BELOW, ONES] };
    const across: Touched = { nodes: [BELOW, OTHERS], deep: [ONES_FILE], moves: [BELOW, OTHERS] };
    expect([
      await writeLeases.isOwn(scene.one.holder, within),
      await writeLeases.isOwn(scene.one.holder, across),
    ]).toEqual([true, false]);
    expect((await waiterFor(scene, scene.one, within)).isServed).toBe(true);
    const waiter = await waiterFor(scene, scene.one, across);
    for (const { said } of [scene.one, scene.other]) expect(said.at(-1)?.[0]).toBe("recall");
    writeLeases.release(scene.other.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(false);
    writeLeases.release(scene.one.holder);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
    // Somebody who has both ends keeps them.
    await acquire(scene, scene.one, ONES);
    await acquire(scene, scene.one, OTHERS);
    expect((await waiterFor(scene, scene.one, across)).isServed).toBe(true);
  });

  test("[W181] go by where what is touched is when those in the way are gone", async () => {
    const scene = new Shared();
    await scene.split();
    const waiter = await waiterFor(scene, scene.attach("third"), { nodes: [ONES_FILE] });
    const moved = relinked(1, OTHERS, ONES_FILE, 1, true);
    scene.places.set(ONES_FILE, [OTHERS]);
    await scene.commit(moved, scene.one);
    scene.feed.writeLeases.release(scene.one.holder);
    await scene.clock.advance(0);
    expect([waiter.isServed, scene.other.said.at(-1)]).toEqual([false, ["recall", OTHERS]]);
  });

  test("[W181] are all recalled when a program on the server moves a folder", async () => {
    const scene = new Shared();
    await scene.split();
    const state = { ...changeOf(1, ROOT_NODE).nodes[1], node: BELOW } as NodeState;
    const bindings = [
      { folder: ONES, name: "below", node: 0 },
      { folder: OTHERS, name: "below", node: BELOW },
    ];
    await scene.commit({ seq: 1, bindings, nodes: [state], replaces: undefined });
    for (const { said } of [scene.one, scene.other]) expect(said.some(([what]) => what === "recall")).toBe(true);
  });

  test("[W180] [W181] are not granted on a folder for a minute after two recalls of it, but on what is below", async () => {
    const scene = new Shared();
    const third = scene.attach("third");
    for (let round = 0; round < 2; round++) {
      expect(await acquire(scene, scene.one, ONES)).toEqual({ folder: ONES, isContinued: false });
      await waiterFor(scene, third, { nodes: [ONES] });
      scene.feed.writeLeases.release(scene.one.holder);
      await scene.clock.advance(1_000);
    }
    expect(await acquire(scene, scene.one, ONES)).toEqual({ isGranted: false, retryAfterMs: MINUTE_MS - 2_000 });
    expect(await acquire(scene, scene.one, BELOW)).toEqual({ folder: BELOW, isContinued: false });
    expect(await acquire(scene, scene.other, OTHERS)).toEqual({ folder: OTHERS, isContinued: false });
  });

  test("[W180] that somebody has asked for before it was recorded is not held", async () => {
    const scene = new Shared();
    const { writeLeases } = scene.feed;
    const answer = await writeLeases.acquire(scene.one.holder, ONES);
    const waiter = await waiterFor(scene, scene.other, { nodes: [ONES_FILE] });
    expect([waiter.isServed, scene.one.said]).toEqual([false, []]);
    if (!answer.isGranted) throw new Error("It was refused.");
    writeLeases.confirm(answer.lease);
    expect(writeLeases.isHeld(answer.lease)).toBe(false);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
  });

  test("[W181] end with the lease of their holder, whatever they are on", async () => {
    const scene = new Shared();
    await scene.split();
    scene.feed.detach(scene.one.holder, false);
    const waiter = await waiterFor(scene, scene.other, { nodes: [ONES_FILE] });
    await scene.clock.advance(TERM_MS - 1);
    expect(waiter.isServed).toBe(false);
    await scene.clock.advance(1);
    expect(waiter.isServed).toBe(true);
  });

  test("[W183] from before a restart are on what they were on, until they are given up or had anew", async () => {
    const scene = new Shared([
      { instance: "one", termMs: TERM_MS, writeLeases: [ONES] },
      { instance: "other", termMs: TERM_MS, writeLeases: [OTHERS] },
    ]);
    expect(scene.one.said).toEqual([["others", [OTHERS]]]);
    expect(await acquire(scene, scene.one, OTHERS)).toMatchObject({ isGranted: false });
    const waiter = await waiterFor(scene, scene.one, { nodes: [OTHERS_FILE] });
    expect([waiter.isServed, scene.other.said.at(-1)]).toEqual([false, ["recall", OTHERS]]);
    // While it is recalled there is no other for its instance: that may have something to send.
    expect(await acquire(scene, scene.other, BELOW)).toMatchObject({ isGranted: false });
    scene.feed.writeLeases.release(scene.other.holder, OTHERS);
    await scene.clock.advance(0);
    expect(waiter.isServed).toBe(true);
    // The lease from before gives way to the new one.
    expect(await acquire(scene, scene.one, ONES)).toEqual({ folder: ONES, isContinued: false });
    expect(scene.feed.writeLeases.record).toBe(`one:${ONES}`);
  });

  test("[W180] [limit writeLeases] [limit attachmentWriteLeases] are so many of a volume, and of an attachment", async () => {
    const scene = new Shared();
    let folder = 1_000;
    const grants = async (follower: Follower, count: number): Promise<boolean[]> => {
      const granted: boolean[] = [];
      for (let each = 0; each < count; each++) {
        scene.places.set(++folder, [ROOT_NODE]);
        granted.push((await acquire(scene, follower, folder)) !== undefined && isHeld(scene, folder));
      }
      return granted;
    };
    const most = LIMITS.attachmentWriteLeases;
    expect((await grants(scene.one, most + 1)).indexOf(false)).toBe(most);
    for (let all = most; all < LIMITS.writeLeases; all += most) await grants(scene.attach(`client ${all}`), most);
    expect(await grants(scene.other, 1)).toEqual([false]);
  });
});

function isHeld(scene: Scene, folder: number): boolean {
  return scene.feed.writeLeases.now().some((lease) => lease.folder === folder);
}
