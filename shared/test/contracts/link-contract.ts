// The contract of every engine of Link.
import { expect, test } from "@jest/globals";
import type { Link } from "../../src/host/link.ts";

/** `left` is the end that dialed. */
export interface LinkPair {
  left: Link;
  right: Link;
  /** Lets the line do its work until the condition holds; fails the test when it does not. */
  until(condition: () => boolean): Promise<void>;
  dispose(): Promise<void>;
  /** Encrypted: some more crosses the line than is counted here. */
  isEncrypted?: true;
}

const message = (number: number, length = 4): Uint8Array => new Uint8Array(length).fill(number);

/** Records what a receiver heard, in order. */
export class Ear {
  readonly messages: Uint8Array[] = [];
  readonly closings: { code: number; reason: string }[] = [];
  messagesAfterClose = 0;

  message(payload: Uint8Array): void {
    if (this.closings.length > 0) this.messagesAfterClose += 1;
    this.messages.push(payload);
  }

  closed(code: number, reason: string): void {
    this.closings.push({ code, reason });
  }
}

export function linkContract(makePair: () => Promise<LinkPair>): void {
  const withPair = async (check: (pair: LinkPair, left: Ear, right: Ear) => Promise<void>): Promise<void> => {
    const pair = await makePair();
    const [left, right] = [new Ear(), new Ear()];
    try {
      await check(pair, left, right);
      expect(left.messagesAfterClose + right.messagesAfterClose).toBe(0);
    } finally {
      await pair.dispose();
    }
  };

  test("delivers whole messages in order, both ways", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      for (let number = 0; number < 100; number++) {
        pair.left.send(message(number, number * 97));
        pair.right.send(message(number));
      }
      await pair.until(() => left.messages.length === 100 && right.messages.length === 100);
      right.messages.forEach((payload, number) => {
        expect(Buffer.compare(payload, message(number, number * 97))).toBe(0);
      });
      expect(left.messages.map((payload) => payload[0])).toEqual([...Array(100).keys()]);
    }));

  test("keeps what came before somebody listened, also when the other side has closed since", () =>
    withPair(async (pair, left, right) => {
      pair.left.send(message(1));
      pair.left.send(message(2));
      pair.left.close(4000, "gone");
      pair.left.listen(left);
      await pair.until(() => left.closings.length === 1);
      pair.right.listen(right);
      pair.right.listen(right);
      await pair.until(() => right.closings.length === 1);
      expect(right.messages.map((payload) => payload[0])).toEqual([1, 2]);
    }));

  test("delivers a message in parts as one, in its place, and needs the memory of its body no more once it says so", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      const lengths = [0, 1, 113, 114, 65_523, 65_524, 2 ** 20];
      const body = new Uint8Array(2 ** 20);
      for (const [number, length] of lengths.entries()) {
        for (const from of [pair.left, pair.right]) {
          let isFree = false;
          from.send(message(100 + number));
          body.fill(number);
          from.sendParts(message(200 + number, 12), body.subarray(0, length), () => (isFree = true));
          from.send(message(100 + number, 300));
          await pair.until(() => isFree);
          body.fill(99);
        }
      }
      for (const ear of [left, right]) {
        await pair.until(() => ear.messages.length === 3 * lengths.length);
        for (const [number, length] of lengths.entries()) {
          const expected = [
            message(100 + number),
            Buffer.concat([message(200 + number, 12), message(number, length)]),
            message(100 + number, 300),
          ];
          for (const [at, bytes] of expected.entries())
            expect(Buffer.compare(ear.messages[3 * number + at] ?? message(0), bytes)).toBe(0);
        }
      }
    }));

  test("does not call the receiver from within listen", () =>
    withPair(async (pair, left, right) => {
      pair.right.listen(right);
      pair.right.send(message(1));
      pair.left.close(1000, "");
      let isSetUp = false;
      pair.left.listen({ message: () => {}, closed: () => left.closed(isSetUp ? 1 : 0, "") });
      isSetUp = true;
      await pair.until(() => left.closings.length === 1);
      expect(left.closings[0]?.code).toBe(1);
    }));

  test("tells both sides of a close, once, with its code and reason, after what was sent before", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      pair.left.send(message(7, 200_000));
      pair.left.close(4001, "enough");
      pair.left.close(4002, "twice");
      await pair.until(() => left.closings.length > 0 && right.closings.length > 0);
      expect(right.messages.map((payload) => payload.length)).toEqual([200_000]);
      expect(left.closings).toEqual([{ code: 4001, reason: "enough" }]);
      expect(right.closings).toEqual([{ code: 4001, reason: "enough" }]);
    }));

  test("gives no message after closed, on either side, and drops what is sent then", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      for (let number = 0; number < 10; number++) pair.right.send(message(number));
      pair.left.close(1000, "");
      pair.left.send(message(99));
      await pair.until(() => left.closings.length === 1 && right.closings.length === 1);
      pair.right.send(message(98));
      expect(left.messages).toEqual([]);
      expect(right.messages).toEqual([]);
    }));

  test("counts the bytes that wait here, down to 0", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      for (let number = 0; number < 32; number++) pair.left.send(message(number, 2 ** 20));
      expect(pair.left.bufferedBytes).toBeGreaterThan(0);
      await pair.until(() => right.messages.length === 32 && pair.left.bufferedBytes === 0);
    }));

  test("counts what was sent and received, with the carrier's headers", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      const before = [pair.left, pair.right].map(({ sentBytes, receivedBytes }) => ({ sentBytes, receivedBytes }));
      pair.left.send(message(1, 1000));
      pair.left.sendParts(message(2, 10), message(2, 69_990), () => {});
      pair.right.send(message(3, 10));
      await pair.until(() => right.messages.length === 2 && left.messages.length === 1);
      const [leftBefore, rightBefore] = before;
      if (leftBefore === undefined || rightBefore === undefined) throw new Error("no counts");
      // Headers of 4 and 10 bytes, each with a mask of 4; and one of 2.
      const [toRight, toLeft] = [71_000 + 8 + 14, 12];
      const sent = [pair.left.sentBytes - leftBefore.sentBytes, pair.right.sentBytes - rightBefore.sentBytes];
      const received = [
        pair.right.receivedBytes - rightBefore.receivedBytes,
        pair.left.receivedBytes - leftBefore.receivedBytes,
      ];
      expect(received).toEqual(sent);
      if (pair.isEncrypted !== true) expect(sent).toEqual([toRight, toLeft]);
      // A record of TLS is 16 KiB at most, and adds 22 bytes (RFC 8446 §5.2).
      for (const [index, plain] of [toRight, toLeft].entries()) {
        expect(sent[index]).toBeGreaterThanOrEqual(plain + (pair.isEncrypted === true ? 22 : 0));
        expect(sent[index]).toBeLessThanOrEqual(plain + 22 * 10);
      }
    }));

  test("breaks when more arrives than its limit, as soon as it does, and not before", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      pair.right.limit(16_384);
      for (let number = 0; number < 8; number++) pair.left.send(message(number, 1500));
      await pair.until(() => right.messages.length === 8);
      pair.left.send(message(9, 1_000_000));
      await pair.until(() => right.closings.length === 1 && left.closings.length === 1);
      expect(right.messages).toHaveLength(8);
    }));

  test("has no limit any more when it is lifted", () =>
    withPair(async (pair, left, right) => {
      pair.left.listen(left);
      pair.right.listen(right);
      pair.right.limit(16_384);
      pair.right.limit(undefined);
      pair.left.send(message(9, 1_000_000));
      await pair.until(() => right.messages.length === 1);
    }));

  test("can be closed by the receiver while it is being told of a message", () =>
    withPair(async (pair, left, right) => {
      pair.right.listen({
        message: (payload) => {
          right.message(payload);
          pair.right.close(4003, "that one");
        },
        closed: (code, reason) => right.closed(code, reason),
      });
      pair.left.listen(left);
      for (let number = 0; number < 10; number++) pair.left.send(message(number));
      await pair.until(() => left.closings.length === 1 && right.closings.length === 1);
      expect(right.messages).toHaveLength(1);
      expect(left.closings).toEqual([{ code: 4003, reason: "that one" }]);
    }));
}
