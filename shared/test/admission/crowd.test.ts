// Makes room in a crowd of unauthenticated connections.
import { expect, test } from "@jest/globals";
import { Crowd, networkOf } from "../../src/admission/crowd.ts";

const MOST = 100;

test("of the network that has most one makes room, never one of a smaller", () => {
  const crowd = new Crowd(MOST);
  const out: string[] = [];
  const enter = (address: string): (() => void) => crowd.enter(address, () => out.push(address));
  for (let count = 0; count < 10; count++) enter("192.0.2.1");
  for (let count = 0; count < 10_000; count++) enter("192.0.2.66");
  expect(out).toHaveLength(10_010 - MOST);
  expect(new Set(out)).toEqual(new Set(["192.0.2.66"]));
});

test("who takes the time of a handshake mostly stays, however many of the same address say nothing", () => {
  const crowd = new Crowd(MOST);
  let out = 0;
  for (let count = 0; count < 200; count++) {
    const leave = crowd.enter("192.0.2.1", () => out++);
    // Fills the crowd with as many as come meanwhile.
    for (let silent = 0; silent < 20; silent++) crowd.enter("192.0.2.1", () => undefined);
    leave();
  }
  expect(out).toBeGreaterThan(0);
  expect(out).toBeLessThan(200 / 2);
});

test("who has left makes no room, and takes none; once is enough", () => {
  const crowd = new Crowd(2);
  const out: number[] = [];
  const leave = crowd.enter("a", () => out.push(1));
  crowd.enter("a", () => out.push(2));
  leave();
  leave();
  crowd.enter("a", () => out.push(3));
  expect(out).toEqual([]);
  crowd.enter("a", () => out.push(4));
  expect(out).toHaveLength(1);
});

test("a network is an address of IPv4, and a /64 of IPv6", () => {
  const cases = [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "::ffff:192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["::1", "0:0:0:0"],
    ["", ""],
  ];
  for (const [address = "", network] of cases) expect([address, networkOf(address)]).toEqual([address, network]);
});
