import { expect, jest, test } from "@jest/globals";
import { Calls, type LineEvents } from "../../ui/calls.ts";
import { ViewStore } from "../../ui/view-store.ts";

type Lists = { drives: readonly { key: string; files: number }[] };

/** The other end of a face's lines: what it was sent, and what it says. */
class OtherEnd {
  readonly sent: { id?: number; request?: { verb: string } }[] = [];
  events: LineEvents | undefined;
  dials = 0;

  /** Dials fail, since nobody listens. */
  isGone = false;

  readonly calls = new Calls({
    dial: (events) => {
      this.events = events;
      this.dials += 1;
      queueMicrotask(() => (this.isGone ? events.closed(false) : events.opened()));
      return { send: (text) => this.sent.push(JSON.parse(text) as object), close: () => undefined };
    },
    version: "test",
    lost: "Lost.",
    dialsMax: 3,
  });

  say(message: object): void {
    this.events?.text(JSON.stringify(message));
  }

  /** Lets the face in, and returns the number of its newest call. */
  async greet(): Promise<number> {
    await Promise.resolve();
    this.say({ hello: { version: "1" } });
    return this.sent.findLast(({ id }) => id !== undefined)?.id ?? 0;
  }
}

test("a view follows its snapshot and its changes, and keeps what it knew while the line is lost", async () => {
  const other = new OtherEnd();
  const store = new ViewStore<string, Lists>(other.calls, "view", { wants: ["drives"] });
  store.listen(() => undefined);
  expect(store.get()).toEqual({ line: "connecting", shown: undefined, problem: "" });
  const id = await other.greet();
  const snapshot = {
    head: "one",
    lists: {
      drives: [
        { key: "a", files: 1 },
        { key: "b", files: 2 },
      ],
    },
    omitted: {},
  };
  other.say({ id, part: { snapshot } });
  expect(store.get()).toEqual({ line: "live", shown: snapshot, problem: "" });
  const drives = {
    put: [
      { key: "c", files: 3 },
      { key: "a", files: 9 },
    ],
    gone: ["b"],
  };
  other.say({ id, part: { changes: { head: "two", lists: { drives } } } });
  const shown = {
    head: "two",
    lists: {
      drives: [
        { key: "a", files: 9 },
        { key: "c", files: 3 },
      ],
    },
    omitted: {},
  };
  expect(store.get().shown).toEqual(shown);
  other.events?.closed(false);
  expect(store.get()).toEqual({ line: "lost", shown, problem: "" });
  await expect(other.calls.ask("status")).rejects.toMatchObject({ kind: "Unavailable", message: "Lost." });
  other.calls.close();
});

test("a view is followed while somebody listens, and asked for again where it was refused", async () => {
  const other = new OtherEnd();
  const store = new ViewStore<string, Lists>(other.calls, "view", {});
  await other.greet();
  const asked = (): number => other.sent.filter(({ request }) => request?.verb === "view").length;
  expect(asked()).toBe(0);
  const leave = store.listen(() => undefined);
  expect(asked()).toBe(1);
  const [, first] = other.sent;
  leave();
  expect(other.sent.at(-1)).toEqual({ cancel: first?.id });
  other.say({ id: first?.id ?? 0, part: { snapshot: { head: "late", lists: {}, omitted: {} } } });
  expect(store.get().shown).toBeUndefined();

  const leaveAgain = store.listen(() => undefined);
  const second = other.sent.at(-1)?.id ?? 0;
  other.say({ id: second, error: { kind: "Busy", message: "Too many pages." } });
  await Promise.resolve();
  await Promise.resolve();
  expect(store.get().problem).toBe("Too many pages.");
  store.again();
  expect(asked()).toBe(3);
  other.say({ id: other.sent.at(-1)?.id ?? 0, part: { snapshot: { head: "one", lists: {}, omitted: {} } } });
  expect(store.get()).toMatchObject({ problem: "", shown: { head: "one" } });
  leaveAgain();
  other.calls.close();
});

test("a call fails with its kind and sentence, and with the line; a refusal ends the dialling", async () => {
  const other = new OtherEnd();
  await other.greet();
  const asked = other.calls.ask("mount", { url: "x" });
  const [, { id } = { id: 0 }] = other.sent;
  expect(other.sent[1]).toEqual({ id, request: { verb: "mount", url: "x" } });
  other.say({ id, error: { kind: "Denied", message: "No." } });
  await expect(asked).rejects.toMatchObject({ kind: "Denied", message: "No." });
  const cut = other.calls.ask("status");
  other.events?.closed(true);
  await expect(cut).rejects.toMatchObject({ kind: "Unavailable" });
  expect([other.calls.state, other.dials]).toEqual(["ended", 1]);
});

test("a line that is lost is dialled again, and has ended once nobody listens any more, dial after dial", async () => {
  jest.useFakeTimers();
  try {
    const other = new OtherEnd();
    await other.greet();
    other.events?.closed(false);
    expect(other.calls.state).toBe("lost");
    await jest.advanceTimersByTimeAsync(1_000);
    await other.greet();
    expect(other.calls.state).toBe("live");
    other.isGone = true;
    other.events?.closed(false);
    await jest.advanceTimersByTimeAsync(1_000);
    expect([other.calls.state, other.dials]).toEqual(["lost", 3]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect([other.calls.state, other.dials]).toEqual(["ended", 5]);
  } finally {
    jest.useRealTimers();
  }
});
