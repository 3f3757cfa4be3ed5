// Datagrams that say that they have more than they have, which the reader of DNS would believe.
import { expect, test } from "@jest/globals";
import { nearbyAnswer, nearbyQuestion } from "../../../src/agent/colleagues/nearby/nearby-messages.ts";
import { isWholeMessage } from "../../../src/agent/colleagues/nearby/whole-message.ts";
import { datagramOf } from "./fuzz-nearby.ts";

const KEY = Buffer.alloc(32, 7).toString("base64url");

async function answer(): Promise<Buffer> {
  return Buffer.from(await datagramOf(nearbyAnswer({ key: KEY, port: 4711 })));
}

test("our own messages are whole, and no part of one is", async () => {
  expect(isWholeMessage(await datagramOf(nearbyQuestion()))).toBe(true);
  const whole = await answer();
  expect(isWholeMessage(whole)).toBe(true);
  for (let length = 0; length < whole.length; length++) expect(isWholeMessage(whole.subarray(0, length))).toBe(false);
});

test.each([4, 6, 8, 10])("one that counts more than it has is not (count at %i)", async (at) => {
  const bytes = await answer();
  bytes.writeUInt16BE(bytes.readUInt16BE(at) + 1, at);
  expect(isWholeMessage(bytes)).toBe(false);
  bytes.writeUInt16BE(65_535, at);
  expect(isWholeMessage(bytes)).toBe(false);
});

test.each([
  ["a name that ends nowhere", [5, 97, 97]],
  ["a label that is too long", [64, ...Array<number>(64).fill(97), 0, 0, 1, 0, 1]],
  ["a name that leads to itself", [0xc0, 12, 0, 1, 0, 1]],
  ["a name that leads to what comes later", [0xc0, 40, 0, 1, 0, 1, ...Array<number>(40).fill(0)]],
  ["a name of half a pointer", [0xc0]],
])("%s is no name", (_what, name) => {
  expect(isWholeMessage(Uint8Array.from([0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...name]))).toBe(false);
});

test("a name may lead to one before it", () => {
  const names = [1, 97, 0, 0, 1, 0, 1, 0xc0, 12, 0, 1, 0, 1];
  expect(isWholeMessage(Uint8Array.from([0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, ...names]))).toBe(true);
});

test("a record that is longer than the rest is not there", async () => {
  const bytes = await answer();
  const whole = Buffer.from(bytes);
  // The length of the last record's text, which ends the datagram.
  for (let at = 12; at < bytes.length - 2; at++) {
    if (whole.readUInt16BE(at) !== whole.length - at - 2) continue;
    bytes.writeUInt16BE(65_535, at);
    expect(isWholeMessage(bytes)).toBe(false);
    bytes.writeUInt16BE(whole.readUInt16BE(at), at);
  }
  expect.assertions(1);
});
