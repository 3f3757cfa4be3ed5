// Updates of the app over an updater in memory: what is downloaded, when, what is offered, and what never is.
import { beforeEach, describe, expect, test } from "@jest/globals";
import { SimulatedClock, settle, wallMs } from "@runnel/shared";
import type { Feed } from "../../../src/cli/updates/signed-feed.ts";
import { MemoryUpdater } from "../../../src/main/memory/memory-updater.ts";
import { FIRST_LOOK_MS, LINE_LOOK_MS, NEXT_LOOK_MS, Updates } from "../../../src/main/updates/updates.ts";
import { newPair, signed } from "../../cli/updates/signed-lists.ts";
import { listOf, offerOf, released } from "./releases.ts";

const OURS = newPair();
const OTHER = newPair();
const EXE = released("Runnel-app-1.1.0-x64.exe", "the newer app");
const ZIP = released("Runnel-app-1.1.0-arm64.zip", "the newer app, for Macs");
const FAKE = released(EXE.name, "the other app");
const NEWER = released("Runnel-app-1.2.0-x64.exe", "a still newer app");

let clock: SimulatedClock;
let updater: MemoryUpdater;
let list: string;
let why: string | undefined;
let said: string[];
let told: string[];
let changes: (string | undefined)[];
let updates: Updates;

const feedOf = (version = "1.1.0", files = [EXE]): Feed => listOf(version, files, wallMs(clock));

beforeEach(() => {
  clock = new SimulatedClock();
  updater = new MemoryUpdater();
  updater.offered = offerOf("1.1.0", [EXE]);
  updater.file = EXE;
  list = signed(feedOf(), OURS);
  why = undefined;
  [said, told, changes] = [[], [], []];
  updates = new Updates({
    clock,
    current: "1.0.0",
    place: { url: "https://example.org/updates.json", keys: [OURS.key] },
    updater,
    fetchList: () => Promise.resolve(list),
    look: () => updater.lookAtFile(),
    discard: () => updater.discard(),
    log: (sentence) => said.push(sentence),
    whyWait: () => Promise.resolve(why),
    changed: () => changes.push(updates.readyVersion),
    failed: (sentence) => told.push(sentence),
  });
});

async function after(delayMs: number): Promise<void> {
  await clock.advance(delayMs);
  await settle();
}

describe("a newer version that was signed", () => {
  test("is looked for once the app has started, downloaded and offered; nothing is installed by itself", async () => {
    await after(FIRST_LOOK_MS - 1);
    expect(updater.looks).toBe(0);
    await after(1);
    expect(updates.readyVersion).toBe("1.1.0");
    expect(updater.downloads).toEqual([EXE.sizeBytes]);
    expect(changes).toEqual(["1.1.0"]);
    expect(said).toEqual(["1.1.0 is ready."]);
    await after(10 * NEXT_LOOK_MS);
    expect(updater.downloads).toHaveLength(1);
    expect(updater.installs).toHaveLength(0);
  });

  test("is installed when a person asks for it; what fails is told, and the version stays offered", async () => {
    await updates.install();
    expect(updater.installs).toHaveLength(0);
    await after(FIRST_LOOK_MS);
    await updates.install();
    expect(updater.installs).toHaveLength(1);
    updater.installs[0]?.(new Error("The application is not signed.\nat a line"));
    expect(told).toEqual(["1.1.0 could not be installed. The version that runs stays."]);
    expect(said.at(-1)).toBe('1.1.0 was not installed: The app was not updated: "The application is not signed."');
    expect(updates.readyVersion).toBe("1.1.0");
  });

  test.each(["A drive is paused.", "The line is metered."])("waits, and comes afterwards: %s", async (sentence) => {
    why = sentence;
    await after(FIRST_LOOK_MS);
    await after(LINE_LOOK_MS);
    expect(updater.downloads).toEqual([]);
    // It is said once.
    expect(said).toEqual([`1.1.0 waits. ${sentence}`]);
    why = undefined;
    await after(LINE_LOOK_MS);
    expect(updates.readyVersion).toBe("1.1.0");
  });

  test("is replaced by a still newer one, and taken back when the list names it no more", async () => {
    await after(FIRST_LOOK_MS);
    list = signed(feedOf("1.2.0", [NEWER]), OURS);
    updater.offered = offerOf("1.2.0", [NEWER]);
    updater.file = NEWER;
    await after(NEXT_LOOK_MS);
    expect(changes).toEqual(["1.1.0", undefined, "1.2.0"]);
    list = signed(feedOf("1.0.0", []), OURS);
    await after(NEXT_LOOK_MS);
    expect(updates.readyVersion).toBeUndefined();
    await updates.install();
    expect(updater.installs).toHaveLength(0);
  });

  test("stays offered while the list cannot be fetched, or is not believed", async () => {
    await after(FIRST_LOOK_MS);
    list = signed(feedOf("9.9.9"), OTHER);
    await after(NEXT_LOOK_MS);
    expect(updates.readyVersion).toBe("1.1.0");
  });

  test("is looked for no more once the app ends", async () => {
    updates.close();
    await after(10 * NEXT_LOOK_MS);
    expect(updater.looks).toBe(0);
  });
});

describe("nothing is downloaded", () => {
  interface Row {
    list?: () => string;
    offered?: unknown;
    says: string | undefined;
  }
  const rows: [string, Row][] = [
    ["where the list is of another key", { list: () => signed(feedOf(), OTHER), says: "Nobody whom this copy" }],
    ["where nobody has signed the list", { list: () => signed(feedOf()), says: "Nobody whom this copy" }],
    ["where the list is none", { list: () => "<html>", says: "cannot be read" }],
    [
      "where the list is too old",
      { list: () => signed({ ...feedOf(), expiresMs: wallMs(clock) - 1 }, OURS), says: "newer ones are held back" },
    ],
    ["where the list has the version that runs", { list: () => signed(feedOf("1.0.0"), OURS), says: undefined }],
    ["where the list has an older version", { list: () => signed(feedOf("0.9.0"), OURS), says: undefined }],
    ["where the feed has none that is newer", { offered: undefined, says: "1.1.0 was signed" }],
    [
      "where the feed offers a newer version than was signed",
      { offered: offerOf("1.2.0", [NEWER]), says: 'offers "1.2.0", and what was signed is 1.1.0' },
    ],
    [
      "where the feed offers an older version than was signed",
      { offered: offerOf("0.9.0", [EXE]), says: 'offers "0.9.0", and what was signed is 1.1.0' },
    ],
    [
      "where a file is another than was signed",
      { offered: offerOf("1.1.0", [FAKE]), says: "offers another Runnel-app" },
    ],
    [
      "where a file has another length",
      { offered: offerOf("1.1.0", [{ ...EXE, sizeBytes: 5 }]), says: "offers another Runnel-app" },
    ],
    ["where one file of two was not signed", { offered: offerOf("1.1.0", [EXE, ZIP]), says: "Nobody has signed" }],
    [
      "where the file was signed without the digest that electron-updater compares",
      {
        list: () =>
          signed({ ...feedOf(), packages: feedOf().packages.map((each) => ({ ...each, sha512: undefined })) }, OURS),
        says: "Nobody has signed",
      },
    ],
    [
      "where a file lies elsewhere",
      { offered: offerOf("1.1.0", [{ ...EXE, name: `https://example.com/${EXE.name}` }]), says: "Nobody has signed" },
    ],
    [
      "where a file asks for the rights of an administrator",
      {
        offered: {
          version: "1.1.0",
          files: [{ url: EXE.name, sha512: EXE.sha512, size: EXE.sizeBytes, isAdminRightsRequired: true }],
        },
        says: "is not understood",
      },
    ],
    [
      "where a package comes beside the file",
      { offered: { ...offerOf("1.1.0", [EXE]), packages: { x64: { path: "x.7z" } } }, says: "is not understood" },
    ],
    ["where no file is named", { offered: offerOf("1.1.0", []), says: "is not understood" }],
    ["where the feed says a word", { offered: "1.1.0", says: "is not understood" }],
    ["where the feed says nothing", { offered: null, says: "is not understood" }],
  ];

  test.each(rows)("%s", async (_, row) => {
    if (row.list !== undefined) list = row.list();
    if ("offered" in row) updater.offered = row.offered;
    await after(FIRST_LOOK_MS);
    expect(updater.downloads).toEqual([]);
    expect(updates.readyVersion).toBeUndefined();
    expect(said).toEqual(row.says === undefined ? [] : [expect.stringContaining(row.says)]);
    // It is looked again all the same.
    list = signed(feedOf(), OURS);
    updater.offered = offerOf("1.1.0", [EXE]);
    await after(NEXT_LOOK_MS);
    expect(updates.readyVersion).toBe("1.1.0");
  });

  test("where this copy is newer than what was signed, whatever the feed offers", async () => {
    list = signed(feedOf("1.0.0"), OURS);
    updater.offered = offerOf("1.0.0", [EXE]);
    await after(FIRST_LOOK_MS);
    expect(updater.looks).toBe(0);
  });

  test("where looking fails; words of the feed are cut in the log", async () => {
    updater.failure = new Error(`${"x".repeat(5000)}\nat a line`);
    await after(FIRST_LOOK_MS);
    expect(said).toEqual([expect.stringMatching(/^The app was not updated: "x{300}"$/)]);
  });
});

describe("what was downloaded", () => {
  test("is not offered where it is not what was signed, whoever has let it pass", async () => {
    updater.file = FAKE;
    await after(FIRST_LOOK_MS);
    expect(updater.downloads).toHaveLength(1);
    expect(updater.file).toBeUndefined();
    expect(updates.readyVersion).toBeUndefined();
    expect(said).toEqual(["What was downloaded as 1.1.0 is not what was signed. It is not installed."]);
  });

  test.each([
    ["was changed since", FAKE],
    ["is gone", undefined],
  ])("is not installed where it %s, and is downloaded again", async (_, file) => {
    await after(FIRST_LOOK_MS);
    updater.file = file;
    await expect(updates.install()).rejects.toMatchObject({ kind: "Denied" });
    expect(updater.installs).toHaveLength(0);
    expect([updates.readyVersion, updater.file]).toEqual([undefined, undefined]);
    updater.file = EXE;
    await after(0);
    expect(updater.downloads).toHaveLength(2);
    expect(updates.readyVersion).toBe("1.1.0");
  });
});
