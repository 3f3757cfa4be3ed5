// Scale of waiting: what many holders of a folder cost whoever changes something in it, on the simulation's clock.
import { afterEach, expect, test } from "@jest/globals";
import { Crowd } from "../src/consistency/crowd.ts";

const HOLDERS = 200;
const IDLE = process.env["RUNNEL_LONG"] === undefined ? 400 : 1_000;
const TERM_MS = 20_000;
let crowd: Crowd | undefined;

afterEach(() => {
  crowd?.end();
  crowd = undefined;
});

async function crowdOf(count: number): Promise<Crowd> {
  const made = new Crowd(count, TERM_MS);
  crowd = made;
  await made.start();
  return made;
}

/** With one other client, which has a lease. */
async function withOneMs(): Promise<number> {
  const pair = await crowdOf(2);
  expect(await pair.look(pair.clients)).toBe(2);
  const tookMs = await pair.saveMs();
  pair.end();
  return tookMs;
}

test("a save waits for one round of the feed and its acknowledgements, however many hold the folder", async () => {
  const oneMs = await withOneMs();
  const { clients } = await crowdOf(HOLDERS);
  expect(await crowd?.look(clients)).toBe(HOLDERS);
  expect(await crowd?.saveMs()).toBeLessThan(1.1 * oneMs);
}, 300_000);

test("drives that nobody uses delay nobody, however many are mounted", async () => {
  const oneMs = await withOneMs();
  const many = await crowdOf(IDLE + 2);
  expect(await many.look(many.clients)).toBe(IDLE + 2);
  await many.clock.advance(3 * TERM_MS);
  expect(await many.holders()).toBe(0);
  expect(await many.look(many.clients.slice(0, 2))).toBe(2);
  expect(await many.holders()).toBe(2);
  expect(await many.saveMs()).toBeLessThan(1.1 * oneMs);
}, 300_000);

test("one dead among them delays a save until its lease has run out, and none after that", async () => {
  const oneMs = await withOneMs();
  const many = await crowdOf(HOLDERS);
  expect(await many.look(many.clients)).toBe(HOLDERS);
  const dead = many.clients[HOLDERS / 2];
  dead?.silence();
  const firstMs = await many.saveMs();
  expect(firstMs).toBeGreaterThan(TERM_MS / 2);
  expect(firstMs).toBeLessThanOrEqual(TERM_MS + 2 * oneMs);
  const others = many.clients.filter((client) => client !== dead);
  for (let n = 0; n < 3; n++) {
    expect(await many.look(others)).toBe(others.length);
    expect(await many.saveMs()).toBeLessThan(1.1 * oneMs);
  }
}, 300_000);
