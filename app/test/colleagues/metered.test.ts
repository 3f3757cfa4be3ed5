// Colleagues and the line: over a metered one a drive neither listens nor gives nor asks, whoever says that it is one.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { all, wholeContent } from "../transfer/sources/chunk-source-contract.ts";
import { Office, type Seat } from "./office-rig.ts";

let office: Office;

beforeEach(() => {
  office = new Office();
});

afterEach(() => office.close());

/** Chunks that a drive has from its colleagues. */
async function broughtTo(seat: Seat, content: Awaited<ReturnType<typeof wholeContent>>): Promise<number> {
  let chunks = 0;
  for await (const run of seat.colleagues.source.get(content, all(content), new AbortController().signal))
    if (run.isGivenUp !== true) chunks += run.count;
  return chunks;
}

/** Says of the line what the system is to say, and waits until the drive has heard it. */
async function becomes(seat: Seat, isMetered: boolean): Promise<void> {
  seat.line.isMetered = isMetered;
  await seat.colleagues.settled();
}

test("whose line is metered listens to nobody, and serves again when it is another one", async () => {
  const content = await wholeContent(1);
  const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
  await laptop.keep(content);
  expect(laptop.port).not.toBe(0);
  expect(laptop.colleagues.restsForLine).toBe(false);
  await becomes(laptop, true);
  expect(laptop.port).toBe(0);
  expect(laptop.colleagues.restsForLine).toBe(true);
  expect(await broughtTo(desk, content)).toBe(0);
  await becomes(laptop, false);
  expect(laptop.port).not.toBe(0);
  expect(await broughtTo(desk, content)).toBe(content.recipe.lengths.length);
});

test("whose line is metered asks nobody, also when the server says that there is somebody", async () => {
  const content = await wholeContent(1);
  const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
  await laptop.keep(content);
  await becomes(desk, true);
  desk.colleagues.areThere(true);
  expect(desk.sources.isEmpty).toBe(true);
  expect(await broughtTo(desk, content)).toBe(0);
  await becomes(desk, false);
  expect(await broughtTo(desk, content)).toBe(content.recipe.lengths.length);
});

test("a line that becomes metered in the middle brings no more", async () => {
  const content = await wholeContent(1);
  const [laptop, desk] = [await office.seat("laptop"), await office.seat("desk")];
  await laptop.keep(content);
  let [came, givenUp] = [0, 0];
  for await (const run of desk.colleagues.source.get(content, all(content), new AbortController().signal)) {
    if (run.isGivenUp === true) givenUp += run.count;
    else if (run.count > 0) {
      came += run.count;
      await becomes(laptop, true);
      await becomes(desk, true);
    }
  }
  expect(came).toBeGreaterThan(0);
  expect(came + givenUp).toBe(content.recipe.lengths.length);
  expect(givenUp).toBeGreaterThan(0);
});

test("a person's word on the line counts before the system's, and the system is not asked then", async () => {
  const laptop = await office.seat("laptop", { colleagues: "network", isMetered: false });
  await office.seat("desk");
  laptop.line.isMetered = true;
  await laptop.follow();
  expect(laptop.port).not.toBe(0);
  expect(laptop.line.watchers).toBe(0);
  laptop.settings.isMetered = true;
  laptop.line.isMetered = false;
  await laptop.follow();
  expect(laptop.port).toBe(0);
  delete laptop.settings.isMetered;
  await laptop.follow();
  expect(laptop.port).not.toBe(0);
  expect(laptop.line.watchers).toBe(1);
});

test("a drive without colleagues does not ask what the line is", async () => {
  const laptop = await office.seat("laptop", { colleagues: "off" });
  expect(laptop.line.watchers).toBe(0);
  laptop.settings.colleagues = "everyone";
  await laptop.follow();
  expect(laptop.line.watchers).toBe(1);
  await laptop.colleagues.close();
  expect(laptop.line.watchers).toBe(0);
});
