// Pages on loopback: one door for all that are asked for, and another one once it has closed.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { enterByLink } from "../calls/bent-browser.ts";
import { LocalPages } from "../../src/page/local-pages.ts";
import { PageSessions } from "../../src/page/page-sessions.ts";
import { PAGE_LIMITS } from "../../src/page/page-limits.ts";
import { makeFolder } from "./folders.ts";

function pagesAt(entryFolder: string): { pages: LocalPages<void>; clock: SimulatedClock; changes: boolean[] } {
  const clock = new SimulatedClock();
  const changes: boolean[] = [];
  const settings = {
    command: "runnel ui",
    sessions: (changed: () => void) => new PageSessions<void>(clock, changed),
    version: "1",
    clock,
    builtFolder: "/nowhere",
    entryFolder,
    table: {},
    handle: async () => ({}),
  };
  const pages: LocalPages<void> = new LocalPages(settings, () => changes.push(pages.isOpen));
  return { pages, clock, changes };
}

test("share a door; once it has closed the next page gets another one, which knows nothing of before", async () => {
  const { pages, clock, changes } = pagesAt(join(makeFolder(), "page"));
  expect(pages.isOpen).toBe(false);
  const [link, file] = await Promise.all([pages.open("link"), pages.open("file")]);
  expect(link.url).toBe(file.url);
  expect(changes).toEqual([true]);
  await clock.advance(PAGE_LIMITS.idleMs);
  expect(changes).toEqual([true, false]);
  const next = await pages.open("link");
  const ticket = new URL(link.opens).hash.slice(1);
  expect((await enterByLink(Number(new URL(next.url).port), ticket)).status).toBe(403);
  await pages.close();
  expect(pages.isOpen).toBe(false);
  await pages.close();
});

test("whose file cannot be written still have links, and the ticket that nobody got does no harm", async () => {
  const base = makeFolder();
  writeFileSync(join(base, "page"), "a file");
  const { pages, clock } = pagesAt(join(base, "page"));
  await expect(pages.open("file")).rejects.toMatchObject({ kind: "NotFolder" });
  const { url, opens } = await pages.open("link");
  expect((await enterByLink(Number(new URL(url).port), new URL(opens).hash.slice(1))).status).toBe(200);
  await clock.advance(PAGE_LIMITS.ticketMs);
  await pages.close();
});

test("offer a download only while there is a door", async () => {
  const { pages } = pagesAt(join(makeFolder(), "page"));
  const download = { name: "a", type: "text/plain", content: () => [Buffer.from("a")] };
  await expect(pages.offer(download)).rejects.toMatchObject({ kind: "Unavailable" });
  await pages.open("link");
  expect(await pages.offer(download)).toHaveLength(43);
  await pages.close();
});
