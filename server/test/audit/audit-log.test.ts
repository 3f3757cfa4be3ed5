// The audit log as a whole: what is durable when, what a crash, a full disk and a clock that jumps leave.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared";
import { SERVER } from "../../src/audit/audit-entry.ts";
import { REPEATED_MS, WAITING_ACTS_MAX, WAITING_NOTES_MAX } from "../../src/audit/audit-limits.ts";
import { ADMIN, AuditRig, LAPTOP, right, unauthenticated } from "./audit-rig.ts";

let rig: AuditRig;

beforeEach(async () => {
  rig = await AuditRig.open();
});

afterEach(() => rig.log.close());

/** Lets everything that can go on without time go on. */
const settled = (): Promise<void> => rig.clock.advance(0);

describe("an entry", () => {
  test("[F181] is read as it was recorded, the newest first, whatever its names are", async () => {
    const names = [
      "a\nb",
      'quo"te',
      "\u0000\u001B[2J",
      "\u2028\u202e",
      "=1+1",
      "日本語",
      '{"n":1,"ms":1}\n{',
      "\uD800",
    ];
    for (const name of names) {
      const who = { ...LAPTOP, name, person: name };
      await rig.log.record({ who, act: "join", object: name, result: "done", detail: name });
    }
    const read = (await rig.entries()).map(({ who, object, detail }) => [who.name, who.person, object, detail]);
    expect(read).toEqual(names.toReversed().map((name) => [name, name, name, name]));
    expect((await rig.text("audit/acts/000000000001.jsonl")).split("\n")).toHaveLength(names.length + 2);
    await rig.restart();
    expect(await rig.objects()).toEqual(names.toReversed());
  });

  test("[F181] has a time, a number, and texts that are cut to their room", async () => {
    const atMs = Number(rig.clock.wallNs() / 1_000_000n);
    await rig.log.record({ ...right("x".repeat(10_000)), detail: "y".repeat(10_000) });
    const [entry] = await rig.entries();
    expect(entry).toEqual({
      n: 1,
      atMs,
      who: ADMIN,
      act: "right",
      object: `${"x".repeat(254)}…`,
      result: "done",
      count: 1,
      detail: `${"y".repeat(599)}…`,
    });
  });

  test("keeps its number's order when the clock jumps back and forth", async () => {
    const times = { one: 2_000_000_000_000, two: 0, three: 4_000_000_000_000, four: 5 };
    for (const [object, wallMs] of Object.entries(times)) {
      rig.clock.jumpWall(wallMs - Number(rig.clock.wallNs() / 1_000_000n));
      await rig.log.record(right(object));
    }
    expect(await rig.objects()).toEqual(["four", "three", "two", "one"]);
    expect(await rig.objects({ fromMs: 1, toMs: 10 })).toEqual(["four"]);
    expect(await rig.objects({ toMs: 10 })).toEqual(["four", "two"]);
    await rig.restart();
    await rig.log.record(right("five"));
    expect(await rig.objects()).toEqual(["five", "four", "three", "two", "one"]);
  });
});

describe("an act", () => {
  test("[F183] is on stable storage before it is answered", async () => {
    for (let cut = 0; cut < 20; cut++) {
      await rig.log.perform({ who: ADMIN, act: "revoke", object: String(cut) }, async () => undefined);
      await rig.powerCut();
      expect((await rig.entries())[0]).toMatchObject({ object: String(cut), result: "done" });
    }
    expect(await rig.entries()).toHaveLength(20);
  });

  test("[F183] that was begun when the process was killed is there as one of which nothing is known", async () => {
    const never = new Promise<void>(() => undefined);
    void rig.log.perform({ who: ADMIN, act: "revoke", object: "laptop" }, () => never);
    await settled();
    expect(await rig.entries()).toEqual([]);
    await rig.powerCut();
    expect(await rig.entries()).toMatchObject([{ act: "revoke", object: "laptop", result: "unknown", who: ADMIN }]);
    await rig.restart();
    expect(await rig.entries()).toHaveLength(1);
  });

  test("[F183] is not done before that it was begun is on stable storage", async () => {
    rig.disk.delayMs = (operation) => (operation === "sync" ? 50 : 0);
    let isDone = false;
    const done = rig.log.perform({ who: ADMIN, act: "revoke", object: "a" }, async () => {
      isDone = true;
    });
    await rig.clock.advance(40);
    expect(isDone).toBe(false);
    await rig.clock.advance(1000);
    await done;
    expect(isDone).toBe(true);
  });

  test("[F183] that fails is recorded with the kind of its error, and throws it", async () => {
    const failing = rig.log.perform({ who: ADMIN, act: "right", object: "x" }, () =>
      Promise.reject(new RunnelError("NotFound", "right", "No device is called x.")),
    );
    await expect(failing).rejects.toMatchObject({ kind: "NotFound" });
    expect(await rig.entries()).toMatchObject([{ result: "NotFound", detail: "No device is called x." }]);
  });

  test("[F183] under way keeps its beginning in a file that is begun meanwhile", async () => {
    rig = await AuditRig.open({ fileBytes: 400 });
    void rig.log.perform({ who: ADMIN, act: "revoke", object: "laptop" }, () => new Promise<void>(() => undefined));
    await settled();
    for (let count = 0; count < 20; count++) await rig.log.record(right(`right ${count}`));
    expect((await rig.files("acts")).length).toBeGreaterThan(3);
    await rig.powerCut();
    expect((await rig.entries())[0]).toMatchObject({ object: "laptop", result: "unknown" });
    expect(await rig.entries()).toHaveLength(21);
  });
});

describe("what others cause", () => {
  test("[F185] costs no sync each, is there at once, and is durable after a while", async () => {
    await rig.log.record(right("before"));
    let syncs = 0;
    rig.disk.fault = (operation) => void (syncs += operation === "sync" ? 1 : 0);
    for (let count = 0; count < 1000; count++)
      rig.log.note({ who: unauthenticated(`192.0.2.${count % 50}`), act: "join", result: "Denied" });
    await settled();
    expect(syncs).toBeLessThanOrEqual(1);
    expect(await rig.entries({ act: "join" })).toHaveLength(50);
    await rig.clock.advance(5_000);
    expect(syncs).toBeLessThanOrEqual(2);
    rig.disk.fault = undefined;
    await rig.powerCut();
    expect(await rig.entries({ act: "join" })).toHaveLength(50);
  });

  test("[F184] [F185] pushes out nothing of what was done: neither with many addresses nor over days", async () => {
    rig = await AuditRig.open({
      fileBytes: 4_000,
      folderBytes: { acts: 20_000, devices: 20_000, unauthenticated: 20_000 },
    });
    await rig.log.record(right("kept"));
    rig.log.note({ who: LAPTOP, act: "login", result: "done" });
    for (let minute = 0; minute < 60; minute++) {
      for (let count = 0; count < 500; count++)
        rig.log.note({ who: unauthenticated(`198.51.${minute}.${count}`), act: "join", result: "Denied" });
      await rig.clock.advance(60_000);
    }
    const bytes = (await rig.allText()).length;
    expect(bytes).toBeLessThan(30_000);
    expect((await rig.entries()).filter(({ who }) => who.kind !== "unauthenticated").map(({ act }) => act)).toEqual([
      "login",
      "right",
    ]);
  });
});

describe("a disk that cannot be written", () => {
  test("[F186] stops no act; what it lacks is recorded when there is room again", async () => {
    await rig.log.record(right("before"));
    rig.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
    let done = 0;
    for (let count = 0; count < 3; count++)
      await rig.log.perform({ who: ADMIN, act: "revoke", object: `act ${count}` }, async () => void done++);
    expect(done).toBe(3);
    expect(rig.warnings).toEqual([
      "The audit log cannot be written (NoSpace). The server goes on; the log will say what it lacks.",
    ]);
    expect(await rig.objects()).toEqual(["before"]);
    rig.disk.fault = undefined;
    await rig.clock.advance(1_000);
    expect(await rig.objects()).toEqual(["act 2", "act 1", "act 0", "before"]);
    expect(rig.warnings.slice(1)).toEqual(["The audit log is written again."]);
  });

  test("[F186] for long makes it lose entries, and say how many; acts have places of their own", async () => {
    await rig.log.record(right("before"));
    rig.disk.fault = (operation) => (operation === "write" ? "NoSpace" : undefined);
    for (let count = 0; count < WAITING_NOTES_MAX + 100; count++)
      rig.log.note({ who: { ...LAPTOP, id: String(count) }, act: "login", result: "done" });
    for (let count = 0; count < WAITING_ACTS_MAX; count++) void rig.log.record(right(`act ${count}`));
    await settled();
    rig.disk.fault = undefined;
    await rig.clock.advance(1_000);
    const lost = 100 + WAITING_NOTES_MAX;
    expect(await rig.entries({ act: "lost" })).toMatchObject([{ who: SERVER, result: "NoSpace", count: lost }]);
    expect(await rig.entries({ act: "login" })).toHaveLength(WAITING_NOTES_MAX);
    expect(await rig.entries({ act: "right" })).toHaveLength(WAITING_ACTS_MAX - WAITING_NOTES_MAX + 1);
    expect(rig.warnings.at(-1)).toBe("The audit log is written again. It says how many entries were lost.");
  });

  test.each(["write", "sync", "truncate", "open"])(
    "[F186] whatever fails (%s) leaves whole lines, each once",
    async (what) => {
      rig = await AuditRig.open({ fileBytes: 600 });
      let failures = 0;
      rig.disk.fault = (operation) => {
        const fails = operation === what && failures++ % 3 === 1;
        return fails ? "Io" : undefined;
      };
      for (let count = 0; count < 30; count++) {
        await rig.log.record(right(String(count)));
        await rig.clock.advance(1_500);
      }
      rig.disk.fault = undefined;
      await rig.clock.advance(2_000);
      expect((await rig.objects()).toReversed()).toEqual(Array.from({ length: 30 }, (_, count) => String(count)));
      await rig.restart();
      expect((await rig.objects()).toReversed()).toEqual(Array.from({ length: 30 }, (_, count) => String(count)));
    },
  );

  test("[F186] at a start does not keep the server from starting", async () => {
    rig.disk.fault = (operation) => (["makeFolder", "write"].includes(operation) ? "NoSpace" : undefined);
    await rig.start();
    await rig.log.record(right("a"));
    expect(await rig.objects()).toEqual([]);
    rig.disk.fault = undefined;
    await rig.clock.advance(1_000);
    expect(await rig.objects()).toEqual(["a"]);
  });
});

describe("a start", () => {
  test("[F182] after a kill in the middle of a line cuts it off; what was whole is there", async () => {
    for (let count = 0; count < 3; count++) await rig.log.record(right(String(count)));
    const path = "audit/acts/000000000001.jsonl";
    const whole = await rig.text(path);
    const lastBegins = whole.lastIndexOf("\n", whole.length - 2) + 1;
    for (let end = lastBegins; end < whole.length; end++) {
      await rig.write(path, whole.slice(0, end));
      await rig.start();
      expect([end, await rig.objects()]).toEqual([end, ["1", "0"]]);
      await rig.log.record(right("next"));
      expect(await rig.objects()).toEqual(["next", "1", "0"]);
    }
  });

  test("[F182] with damage inside the last file goes on in another, and says so once", async () => {
    for (let count = 0; count < 3; count++) await rig.log.record(right(String(count)));
    const path = "audit/acts/000000000001.jsonl";
    const lines = (await rig.text(path)).split("\n");
    lines[2] = "\u0000".repeat(50);
    await rig.write(path, lines.join("\n"));
    await rig.start();
    expect((await rig.entries()).map(({ act, object, count }) => [act, object, count])).toEqual([
      ["lost", "", 1],
      ["right", "2", 1],
      ["right", "0", 1],
    ]);
    expect(await rig.files("acts")).toHaveLength(2);
    await rig.restart();
    expect(await rig.entries({ act: "lost" })).toHaveLength(1);
  });

  test("knows whether the process before ended properly", async () => {
    expect(rig.log.isWholeBefore).toBeUndefined();
    await rig.log.record(right("a"));
    await rig.restart();
    expect(rig.log.isWholeBefore).toBe(false);
    await rig.log.record({ who: SERVER, act: "serverStop", result: "done" });
    await rig.restart();
    expect(rig.log.isWholeBefore).toBe(true);
  });

  test("[F183] after power cuts at any operation has every entry that was durable, in order, whole", async () => {
    for (let seed = 1; seed <= 15; seed++) {
      rig = await AuditRig.open({ fileBytes: 700 }, seed);
      const durable: string[] = [];
      const cutAt = 5 + seed * 17;
      const { disk } = rig;
      const isCut = (): boolean => disk.operations >= cutAt;
      disk.fault = () => (isCut() ? "Io" : undefined);
      for (let count = 0; count < 60 && !isCut(); count++) {
        rig.log.note({ who: { ...LAPTOP, id: String(count) }, act: "login", result: "done" });
        await rig.log.record(right(String(count)));
        if (!isCut()) durable.push(String(count));
      }
      disk.fault = undefined;
      await rig.powerCut();
      const rights = (await rig.objects({ act: "right" })).toReversed();
      expect([seed, rights.slice(0, durable.length)]).toEqual([seed, durable]);
      const numbers = (await rig.entries()).map(({ n }) => n);
      expect(numbers).toEqual(numbers.toSorted((one, other) => other - one));
    }
  });
});

test("two that read while it is written see the same, each entry once", async () => {
  rig = await AuditRig.open({ fileBytes: 2_000 });
  const writing = (async () => {
    for (let count = 0; count < 100; count++) await rig.log.record(right(String(count)));
  })();
  const seen = await Promise.all([rig.entries({ limit: 7 }), rig.entries({ limit: 5 })]);
  await writing;
  for (const entries of seen) {
    const numbers = entries.map(({ n }) => n);
    expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, index) => numbers.length - index));
  }
  const objects = Array.from({ length: 100 }, (_, count) => String(99 - count));
  expect(await Promise.all([rig.objects({ limit: 7 }), rig.objects({ limit: 5 })])).toEqual([objects, objects]);
});

test("what comes after it was closed is not recorded, and stops nobody", async () => {
  await rig.log.close();
  rig.log.note({ who: LAPTOP, act: "login", result: "done" });
  await rig.log.record(right("late"));
  await rig.log.close();
  await rig.start();
  expect(await rig.entries()).toEqual([]);
});

test("a reader is recorded who begins anywhere, and not where a page that was recorded goes on", async () => {
  for (let n = 0; n < 5; n++) await rig.log.record(right(String(n)));
  const reads = async (): Promise<number> => {
    await rig.clock.advance(REPEATED_MS);
    return (await rig.entries({ act: "audit" })).reduce((sum, { count }) => sum + count, 0);
  };
  const first = await rig.log.read(ADMIN, { limit: 2 });
  const second = await rig.log.read(ADMIN, { limit: 2, after: first.after ?? 0 });
  await rig.log.read(ADMIN, { limit: 2, after: second.after ?? 0 });
  // Follows what comes, whether something came or not.
  const above = first.entries[0]?.n ?? 0;
  for (let time = 0; time < 3; time++) await rig.log.read(ADMIN, { above });
  expect(await reads()).toBe(1);
  await rig.log.read(ADMIN, { above: 0 });
  expect(await reads()).toBe(2);
  await rig.log.read(ADMIN, { after: 1_000_000 });
  expect(await reads()).toBe(3);
  // A place that somebody else has read to is none of this reader's.
  await rig.log.read({ ...ADMIN, name: "Eve" }, { after: first.after ?? 0 });
  expect(await reads()).toBe(4);
});
