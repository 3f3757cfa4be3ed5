// The feed of a volume on a simulated clock: whom a commit waits for, and for how long.
import { describe, expect, test } from "@jest/globals";
import { LIMITS, TIMING } from "@runnel/shared";
import type { Change } from "@runnel/shared";
import type { FeedSender, Holder } from "../../src/feed/holder.ts";
import { Follower, Scene, TERM_MS, edited, changeOf, relinked } from "./followers.ts";

describe("a change", () => {
  test("[W13] goes to those who follow its folder, the committer among them, in seq order, and to no other", async () => {
    const scene = new Scene();
    const here = scene.follower("here", [1, 5]);
    const both = scene.follower("both", [1, 7]);
    const all = scene.follower("all", "all");
    const elsewhere = scene.follower("elsewhere", [9]);
    const nothing = scene.follower("nothing", []);
    for (const [seq, folder] of [1, 5, 7, 1, 8].entries()) await scene.commit(changeOf(seq + 1, folder), here);
    expect(here.seqs).toEqual([1, 2, 4]);
    expect(both.seqs).toEqual([1, 3, 4]);
    expect(all.seqs).toEqual([1, 2, 3, 4, 5]);
    expect([...elsewhere.seqs, ...nothing.seqs]).toEqual([]);
  });

  test("[W13] of a followed folder itself is told to who follows it", async () => {
    const scene = new Scene();
    const one = scene.follower("one", [5]);
    await scene.commit(changeOf(1, 1, 5));
    expect(one.seqs).toEqual([1]);
  });

  test.each<[string, Change, boolean]>([
    ["new content", edited(1, 50), true],
    ["another name for a file", relinked(1, 9, 50, 2, true), true],
    ["one of a file's names removed", relinked(1, 9, 50, 1, false), true],
    ["a file's last name removed", relinked(1, 9, 50, 0, false), false],
    ["a new file's only name", relinked(1, 9, 50, 1, true), false],
  ])(
    "[W13] [W177] that may concern a file listed under another folder goes to whoever follows any: %s",
    async (_what, change, isTold) => {
      const scene = new Scene();
      const one = scene.follower("one", [1]);
      const nothing = scene.follower("nothing", []);
      await scene.commit(change);
      expect(one.seqs).toEqual(isTold ? [1] : []);
      expect(nothing.seqs).toEqual([]);
    },
  );

  test("[W13] [limit deviceFollowedFolders] is followed by a device in at most 400000 folders, whatever instances it calls itself", () => {
    const scene = new Scene();
    const device = (instance: string): Holder => {
      const sender = { close: () => undefined } as unknown as FeedSender;
      return scene.feed.attach({ instance, who: "", device: "one", roundTripMs: undefined }, sender, 0);
    };
    const other = scene.follower("other");
    for (const holder of [device("1"), device("2")])
      for (let folder = 0; folder < LIMITS.deviceFollowedFolders / 2; folder++) scene.feed.follow(holder, folder);
    const third = device("3");
    expect(() => {
      for (let folder = 0; folder < 100; folder++) scene.feed.follow(third, folder);
    }).toThrow(expect.objectContaining({ kind: "TooLarge", detail: { limit: LIMITS.deviceFollowedFolders } }));
    scene.feed.follow(other.holder, 12);
  });

  test("[W13] [limit followedFolders] is followed in at most 200000 folders", () => {
    const scene = new Scene();
    const one = scene.follower("one", []);
    for (let folder = 0; folder < LIMITS.followedFolders; folder++) scene.feed.follow(one.holder, folder);
    scene.feed.follow(one.holder, 5);
    expect(() => scene.feed.follow(one.holder, LIMITS.followedFolders)).toThrow(
      expect.objectContaining({ kind: "TooLarge" }),
    );
  });
});

describe("a commit", () => {
  test("[W15] waits for every follower with a lease except the committer, until the last acknowledges", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const first = scene.follower("first");
    const second = scene.follower("second", "all");
    const commit = await scene.commit(changeOf(1, 1), writer);
    await scene.clock.advance(100);
    first.ack(1);
    await scene.clock.advance(100);
    expect(commit.isAnswered).toBe(false);
    second.ack(1);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test.each(["has no lease", "is idle", "follows another folder", "follows nothing", "gave its lease up and left"])(
    "[W15] does not wait for one that %s",
    async (how) => {
      const scene = new Scene();
      const writer = scene.follower("writer");
      const other = scene.follower(
        "other",
        how === "follows another folder" ? [9] : how === "follows nothing" ? [] : [1],
        how !== "has no lease",
      );
      if (how === "is idle") scene.feed.idle(other.holder);
      if (how.startsWith("gave")) scene.feed.detach(other.holder, true);
      expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1), writer))).toBe(0);
    },
  );

  test("[W15] by nobody (another program on the server) waits for all", async () => {
    const scene = new Scene();
    const one = scene.follower("one");
    const commit = await scene.commit(changeOf(1, 1));
    expect(commit.isAnswered).toBe(false);
    one.ack(1);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test("[W15] is answered when the lease has run out that a silent follower held", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    scene.follower("silent");
    await scene.clock.advance(5_000);
    expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1), writer))).toBe(TERM_MS - 5_000);
  });

  test("[W162] over a slow line is waited for as long as its lease lasts there: four round trips", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const far = scene.follower("far", [1], true, 8_000);
    expect(far.holder.termMs).toBe(32_000);
    await scene.clock.advance(5_000);
    expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1), writer))).toBe(32_000 - 5_000);
    expect(scene.follower("near", [1], true, 2_000).holder.termMs).toBe(TERM_MS);
  });

  test("[W19] [W162] is waited for so long after a restart too", async () => {
    const scene = new Scene([{ instance: "far", termMs: 32_000 }]);
    expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1)))).toBe(32_000);
  });

  test("[W15] waits at most a term, however often a follower renews without acknowledging", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const pinging = scene.follower("pinging");
    const commit = await scene.commit(changeOf(1, 1), writer);
    for (let second = 0; second < 19; second++) {
      await scene.clock.advance(1_000);
      expect(pinging.renew()).toBe(true);
      expect(commit.isAnswered).toBe(false);
    }
    // The renewals reached it behind the change: it holds them only if it has applied the change.
    await scene.clock.advance(1_000);
    expect(commit.isAnswered).toBe(true);
  });

  test("[W13] [W15] is acknowledged together with all before it", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const one = scene.follower("one");
    const commits = await Promise.all([1, 2, 3, 4].map((seq) => scene.commit(changeOf(seq, 1), writer)));
    one.ack(3);
    await scene.clock.advance(0);
    expect(commits.map(({ isAnswered }) => isAnswered)).toEqual([true, true, true, false]);
    one.ack(2);
    await scene.clock.advance(0);
    expect(commits[3]?.isAnswered).toBe(false);
    one.ack(4);
    await scene.clock.advance(0);
    expect(commits[3]?.isAnswered).toBe(true);
  });

  test("[W15] with 200 followers takes one round: all are told at once, the last acknowledgement answers", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const others = Array.from({ length: 200 }, (_, index) => scene.follower(`follower ${index}`));
    const commit = await scene.commit(changeOf(1, 1), writer);
    expect(others.every(({ seqs }) => seqs.length === 1)).toBe(true);
    for (const [index, other] of others.entries()) scene.clock.after(50 + index / 10, () => other.ack(1));
    expect(await scene.answeredAfter(commit)).toBeCloseTo(69.9, 5);
    expect(scene.clock.pendingTimers).toBeLessThan(5);
  });

  test("[W17] stops waiting at once for a follower that says idle, or gives its lease up", async () => {
    for (const how of ["idle", "leave"] as const) {
      const scene = new Scene();
      const writer = scene.follower("writer");
      const other = scene.follower("other");
      const commit = await scene.commit(changeOf(1, 1), writer);
      if (how === "idle") scene.feed.idle(other.holder);
      else scene.feed.detach(other.holder, true);
      expect(await scene.answeredAfter(commit)).toBe(0);
    }
  });

  test("[W17] an idle follower keeps its feed, and is waited for again once it asked for its lease", async () => {
    const scene = new Scene();
    const other = scene.follower("other");
    scene.feed.idle(other.holder);
    await scene.commit(changeOf(1, 1));
    expect(other.seqs).toEqual([1]);
    expect(other.renew()).toBe(true);
    const commit = await scene.commit(changeOf(2, 1));
    expect(commit.isAnswered).toBe(false);
    other.ack(2);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test("[W16] says after 200 ms whom it waits for and until when, to the committer only", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const slow = scene.follower("slow");
    scene.follower("slower");
    const quick = scene.follower("quick");
    await scene.clock.advance(1_000);
    await scene.commit(changeOf(7, 1), writer, 42);
    quick.ack(7);
    await scene.clock.advance(199);
    expect(writer.said).toEqual([["changes", 7]]);
    await scene.clock.advance(1);
    const untilMs = Number(scene.clock.wallNs() / 1_000_000n) + TERM_MS - 1_200;
    expect(writer.said.slice(1)).toEqual([["waiting", 42, ["slow's laptop", "slower's laptop"], untilMs]]);
    expect(slow.said).toEqual([["changes", 7]]);
  });

  test("[W16] that is answered sooner says nothing", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const other = scene.follower("other");
    await scene.commit(changeOf(1, 1), writer);
    await scene.clock.advance(100);
    other.ack(1);
    await scene.clock.advance(1_000);
    expect(writer.said).toEqual([["changes", 1]]);
  });

  test("[W16] says it to the committer that has connected again meanwhile", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    scene.follower("slow");
    await scene.commit(changeOf(1, 1), writer, 42);
    const again = new Follower(scene.feed, "writer", 1);
    await scene.clock.advance(300);
    expect(again.said).toMatchObject([["waiting", 42, ["slow's laptop"], expect.any(Number)]]);
  });

  test("[W15] does not wait for its own committer's next connection", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const before = writer.holder;
    const again = new Follower(scene.feed, "writer").follows("all");
    const answer = scene.feed.publish([changeOf(1, 1)], before, 1);
    await scene.clock.advance(0);
    await answer;
    expect(again.seqs).toEqual([1]);
  });
});

describe("a lease", () => {
  test("[W14] is for one term from the request, and again from each", async () => {
    const scene = new Scene();
    const one = scene.follower("one", [1], false);
    for (let step = 0; step < 3; step++) {
      expect(one.renew()).toBe(true);
      await scene.clock.advance(15_000);
      expect(one.holder.hasLease(scene.clock.bootMs())).toBe(true);
    }
    await scene.clock.advance(4_999);
    expect(one.holder.hasLease(scene.clock.bootMs())).toBe(true);
    await scene.clock.advance(1);
    expect(one.holder.hasLease(scene.clock.bootMs())).toBe(false);
  });

  test("[W14] is refused while what followers hold is uncertain; those given are waited for", async () => {
    const scene = new Scene();
    const one = scene.follower("one");
    scene.feed.withdraw();
    expect(one.renew()).toBe(false);
    const commit = await scene.commit(changeOf(1, 1));
    expect(await scene.answeredAfter(commit)).toBe(TERM_MS);
    one.ack(1);
    expect(one.renew()).toBe(false);
    scene.feed.restore();
    expect(one.renew()).toBe(true);
  });

  test("[W18] of one that pings and does not acknowledge is refused after a term; its feed is closed, and for ten terms it asks at every open", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const deaf = scene.follower("deaf");
    await scene.commit(changeOf(1, 1), writer);
    await scene.clock.advance(10_000);
    expect(deaf.renew()).toBe(true);
    await scene.clock.advance(9_999);
    expect(deaf.isClosed).toBe(false);
    await scene.clock.advance(2);
    expect(deaf.isClosed).toBe(true);
    expect(deaf.renew()).toBe(false);
    writer.ack(1);

    const again = new Follower(scene.feed, "deaf", 1).follows([1], false);
    let waited = 0;
    for (let term = 0; term < TIMING.probationTerms; term++) {
      expect(again.renew()).toBe(false);
      const seq = 2 + term;
      waited += await scene.answeredAfter(await scene.commit(changeOf(seq, 1), writer));
      writer.ack(seq);
      again.ack(seq);
      await scene.clock.advance(TERM_MS - 100);
    }
    // The rest of the lease that it was promised last, once.
    expect(waited).toBeLessThan(10_000);
    await scene.clock.advance(1_000);
    expect(again.renew()).toBe(true);
  });

  test("[W18] [limit probationTerms] on probation is not got by leaving and coming back", async () => {
    const scene = new Scene();
    const deaf = scene.follower("deaf");
    await scene.commit(changeOf(1, 1));
    await scene.clock.advance(10_000);
    deaf.renew();
    await scene.clock.advance(10_001);
    expect(deaf.isClosed).toBe(true);
    const again = new Follower(scene.feed, "deaf", 1);
    scene.feed.detach(again.holder, true);
    const third = new Follower(scene.feed, "deaf", 1);
    expect(third.renew()).toBe(false);
    await scene.clock.advance(TIMING.probationTerms * TERM_MS);
    expect(third.renew()).toBe(true);
  });

  test("[W18] [W174] counts for a device that calls itself another instance each time: it costs three terms, and then none for ten", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    let waited = 0;
    let seq = 0;
    const write = async (): Promise<number> => {
      const commit = await scene.commit(changeOf(++seq, 1), writer);
      const ms = await scene.answeredAfter(commit);
      writer.ack(seq);
      waited += ms;
      return ms;
    };
    const next = (): Follower => new Follower(scene.feed, `deaf ${seq}`, seq, undefined, "deaf").follows("all", false);
    for (let round = 0; round < 10; round++) {
      const deaf = next();
      deaf.renew();
      await write();
      scene.feed.detach(deaf.holder, false);
    }
    expect(waited).toBe(3 * TERM_MS);
    // Others of the same machine or address are not touched, and it ends.
    expect(scene.follower("another").renew()).toBe(true);
    await scene.clock.advance(TIMING.probationTerms * TERM_MS);
    expect(next().renew()).toBe(true);
  });

  test.each<[string, (scene: Scene, deaf: Follower, seq: number) => void]>([
    ["just before its lease ends", (_scene, deaf, seq) => deaf.ack(seq)],
    ["so late, having renewed", (_scene, deaf, seq) => (deaf.renew(), deaf.ack(seq))],
    ["never, and says idle instead", ({ feed }, deaf) => feed.idle(deaf.holder)],
    ["never, and leaves instead", ({ feed }, deaf) => feed.detach(deaf.holder, true)],
  ])(
    "[W174] counts for a device whose instance acknowledges %s: it costs three terms, and then none for ten",
    async (_when, speak) => {
      const scene = new Scene();
      const writer = scene.follower("writer");
      let waited = 0;
      let deaf = new Follower(scene.feed, "deaf", 0).follows("all", false);
      for (let seq = 1; seq <= 10; seq++) {
        if (deaf.holder.sender === undefined) deaf = new Follower(scene.feed, "deaf", seq - 1).follows("all", false);
        deaf.renew();
        const commit = await scene.commit(changeOf(seq, 1), writer);
        scene.clock.after(TERM_MS - 100, () => speak(scene, deaf, seq));
        waited += await scene.answeredAfter(commit);
        writer.ack(seq);
        deaf.ack(seq);
      }
      expect(waited).toBeLessThanOrEqual(3 * TERM_MS);
      expect(waited).toBeGreaterThan(2.9 * TERM_MS);
      const another = new Follower(scene.feed, "another", 10, undefined, "of deaf").follows("all", false);
      expect(another.renew()).toBe(false);
      await scene.clock.advance(TIMING.probationTerms * TERM_MS);
      expect(another.renew()).toBe(true);
    },
  );

  test("[W174] counts what waits at the same time once, in all instances of the device together", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const slow = ["1", "2", "3"].map((name) => new Follower(scene.feed, name, 0, undefined, "slow").follows("all"));
    const commits = await Promise.all([1, 2, 3, 4].map((seq) => scene.commit(changeOf(seq, 1), writer)));
    await scene.clock.advance(0.6 * TERM_MS);
    for (const one of slow) for (const seq of [1, 2, 3, 4]) one.ack(seq);
    await scene.clock.advance(0);
    expect(commits.every(({ isAnswered }) => isAnswered)).toBe(true);
    expect(slow.map((one) => one.renew())).toEqual([true, true, true]);
  });

  test.each([
    ["of 600 ms that it said", 600, 600],
    ["of 600 ms that came later", undefined, 600],
    ["that has become bad", 600, 4_000],
    ["of 8 s", 8_000, 12_000],
  ])(
    "[W174] never counts for a device over a line %s, however many changes wait for it",
    async (_line, said, tripMs) => {
      const scene = new Scene();
      const writer = scene.follower("writer");
      const far = scene.follower("far", "all", true, said);
      for (let seq = 1; seq <= 300; seq++) {
        const commit = await scene.commit(changeOf(seq, 1), writer);
        scene.clock.after(tripMs, () => far.ack(seq));
        expect(await scene.answeredAfter(commit)).toBe(tripMs);
        expect(far.renew()).toBe(true);
        writer.ack(seq);
      }
    },
  );

  test("[W174] counts once, as a term, what waited while the server slept for an hour", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const other = scene.follower("other", "all");
    await scene.commit(changeOf(1, 1), writer);
    scene.clock.suspend(3_600_000);
    other.ack(1);
    await scene.clock.advance(0);
    expect(other.renew()).toBe(true);
  });

  test("[W174] does not count for a device on a narrow line, behind many changes at once", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const narrow = scene.follower("narrow", "all");
    // Each takes 5 ms of the line: it acknowledges each 7.5 s after it was sent, for 50 s.
    const atOnce = 1_500;
    for (let seq = 1; seq <= 10_000; seq++) {
      void scene.feed.publish([changeOf(seq, 1)], writer.holder, seq);
      writer.ack(seq);
      if (seq <= atOnce) continue;
      await scene.clock.advance(5);
      narrow.ack(seq - atOnce);
      if (seq % 1_000 === 0) expect(narrow.renew()).toBe(true);
    }
  });

  test("[W18] stalls writers for two terms in all, not for one at each commit", async () => {
    const scene = new Scene();
    const writer = scene.follower("writer");
    const deaf = scene.follower("deaf");
    const pings = setPings(scene, deaf, 5_000);
    let waited = 0;
    for (let seq = 1; seq < 20; seq++) {
      const commit = await scene.commit(changeOf(seq, 1), writer);
      waited += await scene.answeredAfter(commit);
      writer.ack(seq);
      writer.renew();
    }
    expect(waited).toBeLessThanOrEqual(2 * TERM_MS);
    pings.stop();
  });

  test("[W18] is not taken for the future from one that slept: the item came due without a lease", async () => {
    const scene = new Scene();
    const asleep = scene.follower("asleep");
    await scene.clock.advance(1_000);
    const commit = await scene.commit(changeOf(1, 1));
    expect(await scene.answeredAfter(commit)).toBe(TERM_MS - 1_000);
    await scene.clock.advance(10 * TERM_MS);
    // It wakes: its timer asks before what came in is read.
    expect(asleep.renew()).toBe(false);
    expect(asleep.isClosed).toBe(false);
    asleep.ack(1);
    expect(asleep.renew()).toBe(true);
  });

  test("[W18] is not taken from one that is idle and acknowledges late", async () => {
    const scene = new Scene();
    const idle = scene.follower("idle");
    await scene.commit(changeOf(1, 1));
    scene.feed.idle(idle.holder);
    await scene.clock.advance(3 * TERM_MS);
    expect(idle.isClosed).toBe(false);
    expect(idle.renew()).toBe(false);
    idle.ack(1);
    expect(idle.renew()).toBe(true);
  });
});

/** Asks for the lease again and again, as a client that does not read would. */
function setPings(scene: Scene, follower: Follower, everyMs: number): { stop(): void } {
  let isStopped = false;
  const next = (): void => {
    if (isStopped) return;
    follower.renew();
    scene.clock.after(everyMs, next);
  };
  scene.clock.after(everyMs, next);
  return {
    stop: () => {
      isStopped = true;
    },
  };
}

describe("a lost connection", () => {
  test("[W17] leaves its lease: commits wait until it ends, and no longer", async () => {
    const scene = new Scene();
    const lost = scene.follower("lost");
    await scene.clock.advance(4_000);
    scene.feed.detach(lost.holder, false);
    expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1)))).toBe(TERM_MS - 4_000);
    expect(await scene.answeredAfter(await scene.commit(changeOf(2, 1)))).toBe(0);
    expect(lost.seqs).toEqual([]);
  });

  test("[W17] takes its lease along: what waited for it waits for its new connection, which acknowledges", async () => {
    const scene = new Scene();
    const lost = scene.follower("lost");
    scene.feed.detach(lost.holder, false);
    const commit = await scene.commit(changeOf(1, 1));
    const again = new Follower(scene.feed, "lost", 0).follows([1], false);
    await scene.clock.advance(1_000);
    expect(commit.isAnswered).toBe(false);
    again.ack(1);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test("[W17] after which the client says that it had applied the change is waited for no longer", async () => {
    const scene = new Scene();
    const lost = scene.follower("lost");
    const commit = await scene.commit(changeOf(1, 1));
    scene.feed.detach(lost.holder, false);
    const again = new Follower(scene.feed, "lost", 1);
    expect(await scene.answeredAfter(commit)).toBe(0);
    expect(again.isClosed).toBe(false);
  });

  test("[W17] and the way back: until the client has spoken on its new feed, every commit waits for its old lease", async () => {
    const scene = new Scene();
    const lost = scene.follower("lost", [1]);
    scene.feed.detach(lost.holder, false);
    await scene.clock.advance(1_000);
    // Attached, what it follows not yet said again.
    const again = new Follower(scene.feed, "lost", 0);
    const inItsFolder = await scene.commit(changeOf(1, 1));
    const elsewhere = await scene.commit(changeOf(2, 9));
    expect([inItsFolder.isAnswered, elsewhere.isAnswered]).toEqual([false, false]);
    again.follows([1], true);
    await scene.clock.advance(0);
    // It has spoken: folder 9 is none of its, change 1 comes to it with what it missed.
    expect([inItsFolder.isAnswered, elsewhere.isAnswered]).toEqual([false, true]);
    again.ack(1);
    expect(await scene.answeredAfter(inItsFolder)).toBe(0);
  });

  test("[W17] and a client that was not resumed and lists anew: waiting ends when it speaks", async () => {
    const scene = new Scene();
    const lost = scene.follower("lost", "all");
    const commit = await scene.commit(changeOf(5, 1));
    scene.feed.detach(lost.holder, false);
    const again = new Follower(scene.feed, "lost", 0);
    const second = await scene.commit(changeOf(6, 1));
    expect([commit.isAnswered, second.isAnswered]).toEqual([false, false]);
    again.renew();
    await scene.clock.advance(0);
    expect([commit.isAnswered, second.isAnswered]).toEqual([true, true]);
  });

  test("[W17] the same client's second connection closes the first, whose words count no more", async () => {
    const scene = new Scene();
    const first = scene.follower("one");
    const second = new Follower(scene.feed, "one", 0).follows([1], false);
    expect(first.isClosed).toBe(true);
    expect(first.renew()).toBe(false);
    await scene.commit(changeOf(1, 1));
    expect([first.seqs, second.seqs]).toEqual([[], [1]]);
    scene.feed.detach(first.holder, false);
    await scene.commit(changeOf(2, 1));
    expect(second.seqs).toEqual([1, 2]);
    expect(scene.feed.attachments).toBe(1);
  });

  test("[W17] is forgotten when its lease is over, and not while it is on probation", async () => {
    const scene = new Scene();
    scene.feed.detach(scene.follower("lost").holder, false);
    scene.follower("here");
    expect(scene.feed.forgetExpired()).toEqual([]);
    await scene.clock.advance(TERM_MS);
    expect(scene.feed.forgetExpired()).toEqual(["lost"]);
    expect(scene.feed.forgetExpired()).toEqual([]);
  });
});

describe("a restart", () => {
  test("[W19] no commit is answered before a term has passed, whatever it touches", async () => {
    const scene = new Scene(["a", "b"]);
    await scene.clock.advance(7_000);
    const commit = await scene.commit(changeOf(1, 77));
    expect(await scene.answeredAfter(commit)).toBe(TERM_MS - 7_000);
    expect(await scene.answeredAfter(await scene.commit(changeOf(2, 77)))).toBe(0);
  });

  test("[W19] or until each that was attached has come back and spoken", async () => {
    const scene = new Scene(["a", "b"]);
    const commit = await scene.commit(changeOf(1, 77));
    const a = new Follower(scene.feed, "a", 0).follows([1], false);
    const b = new Follower(scene.feed, "b", 0).follows("all", false);
    a.renew();
    b.renew();
    await scene.clock.advance(0);
    expect(commit.isAnswered).toBe(false);
    b.ack(1);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test("[W19] nor is one of before it that is asked about again", async () => {
    const scene = new Scene(["a", "b", "c"]);
    const a = new Follower(scene.feed, "a", 5).follows([1], false);
    const b = new Follower(scene.feed, "b", 4).follows([1], false);
    const c = new Follower(scene.feed, "c", 3).follows("all", false);
    let isConfirmed = false;
    void scene.feed.appliedUpTo(5, a.holder, 1).then(() => (isConfirmed = true));
    b.renew();
    b.ack(5);
    c.renew();
    await scene.clock.advance(0);
    expect(isConfirmed).toBe(false);
    c.ack(5);
    await scene.clock.advance(0);
    expect(isConfirmed).toBe(true);
    await scene.feed.appliedUpTo(5, undefined, 0);
  });

  test("[W19] the committer does not wait for itself", async () => {
    const scene = new Scene(["a"]);
    const a = new Follower(scene.feed, "a", 0).follows([1], false);
    expect(await scene.answeredAfter(await scene.commit(changeOf(1, 1), a))).toBe(0);
  });

  test("[W16] names them as what they are", async () => {
    const scene = new Scene(["a"]);
    const writer = scene.follower("writer");
    await scene.commit(changeOf(1, 1), writer, 3);
    await scene.clock.advance(200);
    expect(writer.said.at(-1)).toMatchObject(["waiting", 3, ["a client from before the restart"], expect.any(Number)]);
  });
});

describe("a backlog", () => {
  async function overflowed(scene: Scene): Promise<Follower> {
    const slow = scene.follower("slow", "all");
    for (let seq = 1; seq <= LIMITS.feedBacklogItems + 1; seq++)
      void scene.feed.publish([changeOf(seq, 1)], undefined, 0);
    await scene.clock.advance(0);
    return slow;
  }

  test("[W60] [limit feedBacklogItems] of more than 16384 items becomes 'list again', and nothing more is sent of what was followed", async () => {
    const scene = new Scene();
    const slow = await overflowed(scene);
    const last = LIMITS.feedBacklogItems + 1;
    expect(slow.said.at(-1)).toEqual(["listAgain", last]);
    await scene.commit(changeOf(last + 1, 1));
    expect(slow.said.at(-1)).toEqual(["listAgain", last]);
    expect(slow.holder.due).toHaveLength(1);
  });

  test("[W60] [limit deviceFeedBacklogItems] of more than 65,536 items of a device does so too, but for who has few", async () => {
    const scene = new Scene();
    const ofOne = (name: string): Follower => new Follower(scene.feed, name, 0, undefined, "one").follows("all");
    const [first, other] = [scene.follower("alone", "all"), ofOne("acknowledges")];
    const slow = Array.from({ length: 6 }, (_, index) => ofOne(`slow ${index}`));
    let seq = 0;
    const change = (): void => void scene.feed.publish([changeOf(++seq, 1)], undefined, 0);
    while (6 * (seq + 1) <= LIMITS.deviceFeedBacklogItems) {
      change();
      other.ack(seq);
    }
    expect(slow.filter(({ said }) => said.at(-1)?.[0] === "listAgain")).toEqual([]);
    change();
    expect(slow.filter(({ said }) => said.at(-1)?.[0] === "listAgain")).not.toEqual([]);
    expect([first.said.at(-1), other.said.at(-1)]).toEqual([
      ["changes", seq],
      ["changes", seq],
    ]);
  });

  test("[W60] is not kept of a follower that is gone", () => {
    const scene = new Scene();
    const slow = scene.follower("slow", "all");
    void scene.feed.publish([changeOf(1, 1)], undefined, 0);
    expect(slow.holder.due).toHaveLength(1);
    scene.feed.detach(slow.holder, false);
    expect(slow.holder.due).toEqual([]);
  });

  test("[W60] commits wait for one that was told to list again, until it acknowledges that or its lease ends", async () => {
    const scene = new Scene();
    const slow = await overflowed(scene);
    const last = LIMITS.feedBacklogItems + 1;
    const commit = await scene.commit(changeOf(last + 1, 1));
    slow.ack(last - 1);
    await scene.clock.advance(100);
    expect(commit.isAnswered).toBe(false);
    slow.ack(last);
    expect(await scene.answeredAfter(commit)).toBe(0);
    expect(await scene.answeredAfter(await scene.commit(changeOf(last + 2, 1)))).toBe(0);

    const other = new Scene();
    await overflowed(other);
    expect(await other.answeredAfter(await other.commit(changeOf(last + 1, 1)))).toBe(TERM_MS);
  });

  test("[W60] what is followed anew is sent again", async () => {
    const scene = new Scene();
    const slow = await overflowed(scene);
    const last = LIMITS.feedBacklogItems + 1;
    scene.feed.follow(slow.holder, 1);
    const commit = await scene.commit(changeOf(last + 1, 1));
    expect(slow.seqs.at(-1)).toBe(last + 1);
    slow.ack(last);
    await scene.clock.advance(0);
    expect(commit.isAnswered).toBe(false);
    slow.ack(last + 1);
    expect(await scene.answeredAfter(commit)).toBe(0);
  });

  test("[W18] [W60] does not start the term anew in which something must be acknowledged", async () => {
    const scene = new Scene();
    const slow = scene.follower("slow", "all");
    void scene.feed.publish([changeOf(1, 1)], undefined, 0);
    await scene.clock.advance(15_000);
    slow.renew();
    for (let seq = 2; seq <= LIMITS.feedBacklogItems + 1; seq++)
      void scene.feed.publish([changeOf(seq, 1)], undefined, 0);
    await scene.clock.advance(5_001);
    expect(slow.isClosed).toBe(true);
  });
});

describe("the feed", () => {
  test("closes every follower and leaves no timer", async () => {
    const scene = new Scene();
    const one = scene.follower("one");
    await scene.commit(changeOf(1, 1));
    await scene.clock.advance(300);
    scene.feed.close();
    expect(one.isClosed).toBe(true);
    expect(scene.clock.pendingTimers).toBe(0);
  });
});
