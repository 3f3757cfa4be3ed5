// A volume on offer: what clients are told of it while it is not open, and when it is opened, let go and opened again.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { RunnelError, SimulatedClock } from "@runnel/shared";
import { Traffic } from "../src/live/traffic.ts";
import { type OpenedVolume, ServedVolume } from "../src/served-volume.ts";

const NOT_THERE = "The folder is not there: is its disk mounted?";

let clock: SimulatedClock;
/** Fault of the folder; undefined when nothing is wrong. */
let fault: RunnelError | undefined;
let isNew: boolean;
let firstScan: PromiseWithResolvers<void>;
let gone: (reason: string) => void;
/** Called by opening. */
let opens: () => void;
/** Called when it is open. */
let told: () => void;
let events: string[];
let warnings: string[];

beforeEach(() => {
  clock = new SimulatedClock();
  fault = undefined;
  isNew = false;
  firstScan = Promise.withResolvers();
  opens = () => undefined;
  told = () => undefined;
  events = [];
  warnings = [];
});

function away(message = NOT_THERE): RunnelError {
  return new RunnelError("Unavailable", "serve", message);
}

function served(): ServedVolume {
  const opened = (): OpenedVolume => ({
    volume: {
      isNew,
      traffic: new Traffic(),
      firstScan: firstScan.promise,
      content: {
        status: () => ({ scan: { why: "start", done: 1234, total: 0 } }),
        checkRoot: async () => {
          if (fault !== undefined) gone(fault.message);
        },
      },
      close: async () => void events.push("closed"),
    } as unknown as OpenedVolume["volume"],
    folder: "/srv/docs",
    release: async () => void events.push("released"),
  });
  return new ServedVolume(
    {
      name: "docs",
      folder: "/srv/docs",
      probe: async () => {
        if (fault !== undefined) throw fault;
      },
      open: async (tell) => {
        gone = tell;
        opens();
        events.push("opened");
        return opened();
      },
    },
    {
      clock,
      opened: () => told(),
      ended: (_volume, error) => void events.push(`ended: ${error.kind}`),
      warn: (message) => void warnings.push(message),
    },
  );
}

describe("a folder that is not there", () => {
  test("[W110] is said why to whoever attaches, and served when it appears", async () => {
    fault = away();
    const volume = served();
    await volume.start();
    expect(() => volume.mustBeOpen()).toThrow(NOT_THERE);
    expect(volume.unavailable).toBe(NOT_THERE);
    await clock.advance(10_000);
    expect(warnings).toHaveLength(1);
    fault = undefined;
    await clock.advance(1_000);
    expect(volume.mustBeOpen()).toBe(volume.volume);
    expect(warnings[1]).toContain("is served now");
    await volume.close();
    expect(events).toEqual(["opened", "closed", "released"]);
  });

  test("[F110] is noticed within 2 s while it is served: attachments end, all is let go, and it is opened again when it is back", async () => {
    const volume = served();
    await volume.start();
    fault = away();
    await clock.advance(1_999);
    expect(events).toEqual(["opened", "ended: Unavailable", "closed", "released"]);
    expect(() => volume.mustBeOpen()).toThrow(expect.objectContaining({ kind: "Unavailable" }));
    fault = undefined;
    await clock.advance(1_999);
    expect(events.slice(4)).toEqual(["opened"]);
    expect(volume.unavailable).toBeUndefined();
    await volume.close();
  });

  test("that goes while it is just being opened is let go", async () => {
    isNew = true;
    const volume = served();
    const starting = volume.start();
    await clock.advance(10);
    fault = away();
    gone(NOT_THERE);
    firstScan.reject(fault);
    await starting;
    expect(events).toEqual(["opened", "closed", "released"]);
    await volume.close();
    await clock.advance(60_000);
    expect(events).toHaveLength(3);
  });

  test("that goes between the look and the opening, which fails in whatever it does, is not there", async () => {
    opens = () => {
      fault = away();
      throw new RunnelError("NotFound", "open folder", "/srv/docs is not there");
    };
    const volume = served();
    await volume.start();
    expect(volume.unavailable).toBe(NOT_THERE);
    [fault, opens] = [undefined, () => undefined];
    await clock.advance(1_000);
    expect(volume.volume).toBeDefined();
    await volume.close();
  });

  test("what waiting does not mend ends the start; later it is told, once, and tried again", async () => {
    fault = new RunnelError("NotFolder", "serve", "/srv/docs is not a folder. Name a folder.");
    await expect(served().start()).rejects.toBe(fault);
    fault = away();
    const volume = served();
    await volume.start();
    fault = new RunnelError("Invalid", "serve", "It lies inside another.");
    await clock.advance(30_000);
    expect(warnings.filter((warning) => warning.includes("cannot be opened."))).toHaveLength(1);
    expect(volume.unavailable).not.toContain("another");
    fault = undefined;
    await clock.advance(1_000);
    expect(volume.volume).toBeDefined();
    await volume.close();
  });
});

test("each opening is told before anybody is let in", async () => {
  const volume = served();
  told = () => void events.push(`told: ${String(volume.volume?.isNew)}`);
  await volume.start();
  fault = away();
  await clock.advance(1_999);
  fault = undefined;
  await clock.advance(1_999);
  expect(events.filter((event) => event.startsWith("told"))).toEqual(["told: undefined", "told: undefined"]);
  expect(volume.volume).toBeDefined();
  await volume.close();
});

test("[W111] a folder that is taken in is Busy to who attaches, with how far that is, which whoever runs the server is told as well", async () => {
  isNew = true;
  const volume = served();
  const starting = volume.start();
  await clock.advance(10);
  const detail = { retryAfterMs: expect.any(Number) };
  expect(() => volume.mustBeOpen()).toThrow(
    expect.objectContaining({ kind: "Busy", message: expect.stringContaining("1234 entries so far"), detail }),
  );
  await clock.advance(7_000);
  expect(warnings).toEqual(Array.from({ length: 2 }, () => "Taking in the folder of docs: 1234 entries so far."));
  firstScan.resolve();
  await starting;
  expect(warnings.at(-1)).toBe("The folder of docs is taken in.");
  expect(volume.mustBeOpen()).toBe(volume.volume);
  await volume.close();
});
