// Decoders with a bug each, which a fuzzer has to find: behind conditions that only bytes chosen one after another
// meet.
import { Channel } from "../../src/protocol/channel.ts";
import { encodeMessage } from "../../src/protocol/cbor.ts";
import { FRAME, decodeFrame, encodeFrame } from "../../src/protocol/frame.ts";
import { joinMessages, splitMessages } from "./message-list.ts";
import type { FuzzTarget, Targets } from "./target.ts";

const CALL = encodeFrame({
  kind: FRAME.call,
  channel: 3,
  isCompressed: false,
  payload: encodeMessage(["stat", { attachment: 3, nodes: [1, 2], names: [[1, "name"]] }]),
});

const CREDIT = encodeFrame({ kind: FRAME.credit, channel: 3, isCompressed: false, payload: Uint8Array.of(1) });

/** The frame decoder, but for certain credits: each condition is a step of its own. */
function brokenFrames(bug: () => void): FuzzTarget {
  return {
    structure: "bytes",
    seeds: [CALL, CREDIT],
    run: (input) => {
      const { kind, payload } = decodeFrame(input);
      if (kind !== FRAME.credit) return;
      if (!isLetter(payload[0])) return;
      if (!isLetter(payload[1])) return;
      if (!isLetter(payload[2])) return;
      if (!isLetter(payload[3])) return;
      if (!isLetter(payload[4])) return;
      if (payload.length < 8) bug();
    },
  };
}

function isLetter(byte = 0): boolean {
  return byte > 0x40 && byte < 0x50;
}

/**
 * A connection's state machine that fails when a channel was opened, written to, cancelled, given credit and then sent
 * bulk.
 */
function brokenStates(): FuzzTarget {
  return {
    structure: "messages",
    headBytes: 2,
    seeds: [joinMessages([CALL, CALL])],
    run: (input) => {
      let state = 0;
      for (const { kind, channel } of splitMessages(input).map(decodeFrame)) {
        if (state === 0 && kind === FRAME.open) state = 1;
        else if (state === 1 && kind === FRAME.item) state = 2;
        else if (state === 2 && kind === FRAME.cancel) state = 3;
        else if (state === 3 && kind === FRAME.credit) state = 4;
        else if (state === 4 && kind === FRAME.bulk && channel === 1) throw new TypeError("planted");
      }
    },
  };
}

/** The real connection, but for credit that is given back for bulk which it sent. */
async function brokenCredit(): Promise<FuzzTarget> {
  const receiveCredit = Reflect.get(Channel.prototype, "receiveCredit") as (this: Channel, bytes: number) => void;
  Channel.prototype.receiveCredit = function (bytes) {
    receiveCredit.call(this, bytes);
    if (bytes > 0) throw new TypeError("planted");
  };
  const { targets: real } = await import("./protocol-targets.ts");
  const make = real["connections"];
  if (make === undefined) throw new Error("there is no such target");
  return make();
}

const hoard: unknown[] = [];

export const targets: Targets = {
  "throws a TypeError": () =>
    brokenFrames(() => {
      throw new TypeError("planted");
    }),
  "allocates wildly": () => brokenFrames(() => void hoard.push(new Uint8Array(2 ** 28))),
  "loops without end": () =>
    brokenFrames(() => {
      for (;;) if (hoard.length > 1) return;
    }),
  "aborts the process": () => brokenFrames(() => process.abort()),
  "leaves a promise rejected": () => brokenFrames(() => void Promise.reject(new Error("planted"))),
  "fails in a late state": () => brokenStates(),
  "miscounts credit": brokenCredit,
};
