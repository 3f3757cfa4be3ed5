// A door over the simulated clock, on a real port, with a table of verbs of its own.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach } from "@jest/globals";
import { CallClient } from "../../src/calls/call-client.ts";
import type { Call } from "../../src/calls/call-table.ts";
import { WsCarrier } from "../../src/calls/ws-carrier.ts";
import { settle, SimulatedClock } from "../../src/host/simulated/simulated-clock.ts";
import { z } from "zod";
import { PAGE_PROTOCOL } from "../../src/page/page-calls.ts";
import { PageSessions } from "../../src/page/page-sessions.ts";
import { PageDoor, type PageDoorSettings } from "../../src/page/page-door.ts";
import { makeFolder } from "./folders.ts";
import { dial, enterByLink, type WebSocket } from "../calls/bent-browser.ts";

export const TABLE = {
  add: { asks: z.object({ numbers: z.array(z.number()) }), gives: z.object({ sum: z.number() }) },
  wait: { asks: z.object({}), gives: z.object({}) },
  hang: { asks: z.object({}), gives: z.object({}) },
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export interface DoorRig {
  door: PageDoor<string>;
  clock: SimulatedClock;
  port: number;
  problems: unknown[];
  /** Counts how often the door began to close. */
  closings: number;
  /** A new ticket. */
  ticket(): string;
  /** A new page session. */
  session(): Promise<string>;
  /** A page that makes calls. */
  page(session: string): Promise<Page>;
  /** Closes a page. Resolves when the door knows. */
  leave(page: Page): Promise<void>;
}

export interface Page {
  client: CallClient<typeof TABLE>;
  socket: WebSocket;
}

export async function openDoor(settings: Partial<PageDoorSettings<string>> = {}): Promise<DoorRig> {
  const clock = new SimulatedClock();
  const base = makeFolder();
  const built = join(base, "dist");
  mkdirSync(join(built, "assets"), { recursive: true });
  writeFileSync(join(built, "index.html"), "<!doctype html><title>built</title>");
  writeFileSync(join(built, "favicon.svg"), "<svg/>");
  writeFileSync(join(built, "assets", "index-A1b2C3d4.js"), "built();");
  writeFileSync(join(base, "secret.txt"), "secret");
  const problems: unknown[] = [];
  const door = await PageDoor.open({
    command: "runnel ui",
    sessions: (changed) => new PageSessions<string>(clock, changed),
    version: "1.2.3",
    clock,
    builtFolder: built,
    entryFolder: join(base, "page"),
    table: TABLE,
    handle,
    problem: (error) => problems.push(error),
    closing: () => {
      rig.closings += 1;
    },
    ...settings,
  });
  const port = Number(new URL(door.url).port);
  const rig: DoorRig = {
    door,
    clock,
    port,
    problems,
    closings: 0,
    ticket: () => new URL(door.link("Ada")).hash.slice(1),
    session: async () => (JSON.parse((await enterByLink(port, rig.ticket())).text) as { session: string }).session,
    page: async (session) => {
      const { socket } = await dial(port);
      cleanups.push(async () => socket.terminate());
      socket.send(JSON.stringify({ session }));
      const opened = await CallClient.open(new WsCarrier(socket), TABLE, {
        hello: { protocol: PAGE_PROTOCOL, version: "page", features: [] },
        clock,
        deadlineMs: 1000,
        operation: "ask",
        sentences: { silent: "Silent.", ended: "Ended.", notUnderstood: "Not understood." },
      });
      if (opened === undefined) throw new Error("The door did not let the page in.");
      return { client: opened.client, socket };
    },
    leave: async ({ client }) => {
      // The last page of a page session starts a timer when it goes.
      const before = clock.pendingTimers;
      client.close();
      while (clock.pendingTimers === before) await settle();
    },
  };
  cleanups.push(async () => {
    const closed = door.close();
    await clock.advance(10_000);
    await closed;
  });
  return rig;
}

async function handle(verb: string, request: unknown, call: Call): Promise<unknown> {
  if (verb === "add") return { sum: (request as { numbers: number[] }).numbers.reduce((sum, each) => sum + each, 0) };
  await new Promise<void>((done) => {
    if (verb === "wait") call.signal.addEventListener("abort", () => done());
  });
  return {};
}
