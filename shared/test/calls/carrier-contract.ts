// Holds a carrier to what carrier.ts says. Each engine's test calls it with two ends that are connected.
import { expect, test } from "@jest/globals";
import type { Carrier } from "../../src/calls/carrier.ts";

export interface CarrierPair {
  near: Carrier;
  far: Carrier;
  /** Holds what is sent to the far end back, until it is called. */
  hold(): () => void;
}

export function carrierContract(connect: () => Promise<CarrierPair>): void {
  test("carries texts both ways, whole and in order", async () => {
    const { near, far } = await connect();
    const received = collect(far);
    const answered = collect(near);
    for (const text of ["one", "", "zwölf\u2028", "x".repeat(200_000)]) void near.send(text);
    void far.send("answer");
    expect(await received.next(4)).toEqual(["one", "", "zwölf\u2028", "x".repeat(200_000)]);
    expect(await answered.next(1)).toEqual(["answer"]);
    near.close();
    await received.closed;
  });

  test("delivers what was sent before it was closed, and tells both ends once", async () => {
    const { near, far } = await connect();
    const received = collect(far);
    const own = collect(near);
    void near.send("last");
    near.close();
    void near.send("too late");
    near.close();
    await Promise.all([received.closed, own.closed]);
    expect(received.texts).toEqual(["last"]);
    expect([received.ends, own.ends]).toEqual([1, 1]);
    expect(far.send("to nobody")).toBeUndefined();
  });

  test("takes nothing more once it is closed, also of what has come together", async () => {
    const { near, far } = await connect();
    const texts: string[] = [];
    const closed = new Promise<void>((done) => {
      far.onClose(() => done());
    });
    far.onText((text) => {
      texts.push(text);
      far.close();
    });
    void near.send("one");
    void near.send("two");
    await closed;
    expect(texts).toEqual(["one"]);
  });

  test("says when there is no room, and when there is again", async () => {
    const { near, far, hold } = await connect();
    const release = hold();
    const received = collect(far);
    let room: Promise<void> | undefined;
    let sent = 0;
    for (; room === undefined; sent += 1) room = near.send("x".repeat(100_000));
    release();
    await room;
    expect((await received.next(sent)).length).toBe(sent);
    near.close();
    await received.closed;
  });

  test("ends the wait for room when it ends", async () => {
    const { near, far, hold } = await connect();
    hold();
    let room: Promise<void> | undefined;
    while (room === undefined) room = near.send("x".repeat(100_000));
    far.close();
    await room;
  });
}

function collect(carrier: Carrier): {
  texts: string[];
  ends: number;
  closed: Promise<void>;
  next(count: number): Promise<string[]>;
} {
  let wake = (): void => undefined;
  const collected = {
    texts: [] as string[],
    ends: 0,
    closed: new Promise<void>((done) => {
      carrier.onClose(() => {
        collected.ends += 1;
        done();
      });
    }),
    next: async (count: number): Promise<string[]> => {
      while (collected.texts.length < count) {
        await new Promise<void>((done) => {
          wake = done;
        });
      }
      return collected.texts;
    },
  };
  carrier.onText((text) => {
    collected.texts.push(text);
    wake();
  });
  return collected;
}
