// Updates of the app by electron-updater itself, from a feed of a real server: a good one is offered, and what a
// server, or somebody before it, may do to one is not.
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { type ServerResponse, createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SimulatedClock, wallMs } from "@runnel/shared";
import type { NsisUpdater } from "electron-updater";
import { fetchFeed } from "../../../src/cli/updates/host/feed-source.ts";
import { FEED_BYTES_MAX } from "../../../src/cli/updates/signed-feed.ts";
import { SILENT_MS } from "../../../src/main/electron/bounded-requests.ts";
import { FeedUpdater } from "../../../src/main/electron/feed-updater.ts";
import { discardFile, lookAtFile } from "../../../src/main/host/update-files.ts";
import { Updates } from "../../../src/main/updates/updates.ts";
import { newPair, signed } from "../../cli/updates/signed-lists.ts";
import { feedText, listOf, released } from "../updates/releases.ts";
import { nodeUpdater } from "./node-updater.ts";

const OURS = newPair();
const OTHER = newPair();
const LIST = "/updates.json";
const FEED = "/latest.yml";
const EXE = released("Runnel-app-1.1.0-x64.exe", "the newer app ".repeat(20_000));
const FAKE = released(EXE.name, "the other app ".repeat(20_000));
const FILE = `/${EXE.name}`;
const ALL = [LIST, FEED, FILE];

type Answer = string | Buffer | ((answer: ServerResponse) => void);

let folder: string;
let url: string;
let answers: Record<string, Answer>;
let asked: string[];
let headers: Set<string>;
let said: string[];
let clock: SimulatedClock;

const server = createServer(({ url: path = "", headers: given }, answer) => {
  const { pathname } = new URL(path, "http://server");
  asked.push(pathname);
  for (const name of Object.keys(given)) headers.add(name);
  const body = answers[pathname];
  if (body === undefined) answer.writeHead(404).end();
  else if (typeof body === "function") body(answer);
  else answer.end(body);
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-updater-"));
  clock = new SimulatedClock();
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  [asked, headers, said] = [[], new Set(), []];
  answers = {
    [LIST]: signed(listOf("1.1.0", [EXE], wallMs(clock)), OURS),
    [FEED]: feedText("1.1.0", [EXE]),
    [FILE]: EXE.bytes,
  };
});

afterEach(async () => {
  await stopServer();
  rmSync(folder, { recursive: true });
});

async function stopServer(): Promise<void> {
  if (!server.listening) return;
  server.closeAllConnections();
  await new Promise((done) => void server.close(done));
}

interface App {
  updates: Updates;
  updater: NsisUpdater;
}

/** A start of the app. `publisher`: whose certificate it knows. */
function startApp(current = "1.0.0", publisher?: string): App {
  const updater = nodeUpdater(current, folder, publisher);
  const updates = new Updates({
    clock,
    current,
    place: { url: `${url}${LIST}`, keys: [OURS.key] },
    updater: new FeedUpdater(updater, `${url}/`, clock),
    fetchList: (place) => fetchFeed(place),
    look: lookAtFile,
    discard: discardFile,
    log: (sentence) => said.push(sentence),
    whyWait: () => Promise.resolve(undefined),
    changed: () => undefined,
    failed: (sentence) => said.push(sentence),
  });
  return { updates, updater };
}

async function lookOnce(current?: string, publisher?: string): Promise<App> {
  const app = startApp(current, publisher);
  await app.updates.look();
  return app;
}

/** Paths of what lies in the updater's own folder, of a file that is whole or not. */
function downloaded(): string[] {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true });
  return paths
    .filter((each) => each.isFile() && /\.exe/.test(each.name))
    .map((each) => join(each.parentPath, each.name));
}

function endless(answer: ServerResponse): void {
  const more = (): void => {
    while (!answer.destroyed && answer.write("x".repeat(50_000)));
  };
  answer.on("drain", more);
  more();
}

describe("a good feed", () => {
  test("is offered, byte for byte, and no server is told a number of this device", async () => {
    const { updates } = await lookOnce();
    expect([updates.readyVersion, said]).toEqual(["1.1.0", ["1.1.0 is ready."]]);
    expect(asked).toEqual(ALL);
    expect(downloaded().map((path) => readFileSync(path).equals(EXE.bytes))).toEqual([true]);
    expect([...headers].filter((name) => name.startsWith("x-"))).toEqual([]);
  });

  test("is installed by electron-updater once a person asks, and not where the file is another by then", async () => {
    const { updates, updater } = await lookOnce();
    const installed: boolean[][] = [];
    updater.quitAndInstall = (...how) => void installed.push(how as boolean[]);
    await updates.install();
    expect(installed).toEqual([[false, true]]);
    updater.emit("error", new Error("The app is not signed."));
    expect(said.slice(1)).toEqual([
      '1.1.0 was not installed: The app was not updated: "The app is not signed."',
      "1.1.0 could not be installed. The version that runs stays.",
    ]);
    const [path = ""] = downloaded();
    expect(basename(path)).toBe(EXE.name);
    writeFileSync(path, FAKE.bytes);
    await expect(updates.install()).rejects.toMatchObject({ kind: "Denied" });
    expect(installed).toHaveLength(1);
    // electron-updater itself looks no more whether what this process has downloaded is what it was.
    await updates.look();
    expect(updates.readyVersion).toBe("1.1.0");
    expect(readFileSync(path).equals(EXE.bytes)).toBe(true);
  });

  test("is not downloaded again by the next start, but where what lies there was changed", async () => {
    await lookOnce();
    const [path = ""] = downloaded();
    expect((await lookOnce()).updates.readyVersion).toBe("1.1.0");
    expect(asked).toEqual([...ALL, LIST, FEED]);
    writeFileSync(path, FAKE.bytes);
    expect((await lookOnce()).updates.readyVersion).toBe("1.1.0");
    expect(asked.slice(-3)).toEqual(ALL);
    expect(readFileSync(path).equals(EXE.bytes)).toBe(true);
  });

  test("is refused where electron-updater finds another publisher's certificate", async () => {
    const app = startApp("1.0.0", "CN=The Runnel authors");
    const publishers: string[][] = [];
    app.updater.verifyUpdateCodeSignature = (names) => {
      publishers.push(names);
      return Promise.resolve("It is of another.");
    };
    await app.updates.look();
    expect(publishers).toEqual([["CN=The Runnel authors"]]);
    expect(app.updates.readyVersion).toBeUndefined();
    expect(said).toEqual([expect.stringContaining("is not signed by the application owner")]);
    expect(downloaded()).toEqual([]);
  });
});

describe("nothing is offered", () => {
  interface Row {
    /** Answers in place of those of the good feed. */
    answers?: () => Record<string, Answer>;
    current?: string;
    /** Paths that are asked for before it is refused. */
    asks: string[];
    says?: string;
  }
  const list = (version: string, files = [EXE]) => listOf(version, files, wallMs(clock));
  const rows: [string, Row][] = [
    [
      "that another key has signed",
      { answers: () => ({ [LIST]: signed(list("1.1.0"), OTHER) }), asks: [LIST], says: "Nobody whom this copy" },
    ],
    [
      "that nobody has signed",
      { answers: () => ({ [LIST]: signed(list("1.1.0")) }), asks: [LIST], says: "Nobody whom" },
    ],
    [
      "whose version is on no list",
      { answers: () => ({ [FEED]: feedText("1.2.0", [EXE]) }), asks: [LIST, FEED], says: 'offers "1.2.0"' },
    ],
    [
      "whose files are on no list",
      { answers: () => ({ [LIST]: signed(list("1.1.0", []), OURS) }), asks: [LIST, FEED], says: "Nobody has signed" },
    ],
    [
      "whose file was changed after it was signed, and the feed with it",
      {
        answers: () => ({ [FEED]: feedText("1.1.0", [FAKE]), [FILE]: FAKE.bytes }),
        asks: [LIST, FEED],
        says: "offers another",
      },
    ],
    ["whose file alone was changed", { answers: () => ({ [FILE]: FAKE.bytes }), asks: ALL, says: "checksum mismatch" }],
    [
      "whose file is cut",
      { answers: () => ({ [FILE]: EXE.bytes.subarray(0, 70_000) }), asks: ALL, says: "checksum mismatch" },
    ],
    [
      "whose file stops in the middle",
      {
        answers: () => ({
          [FILE]: (answer) => {
            answer.writeHead(200, { "content-length": EXE.sizeBytes });
            answer.write(EXE.bytes.subarray(0, 70_000), () => answer.destroy());
          },
        }),
        asks: ALL,
        says: "aborted",
      },
    ],
    ["whose file has no end", { answers: () => ({ [FILE]: endless }), asks: ALL, says: "longer than what was signed" }],
    [
      "whose file is not there",
      { answers: () => ({ [FILE]: (answer) => void answer.writeHead(404).end() }), asks: ALL, says: "status 404" },
    ],
    ["that is older than this copy", { current: "1.2.0", asks: [LIST] }],
    ["that is this copy", { current: "1.1.0", asks: [LIST] }],
    [
      "that is an older version on a newer list",
      {
        answers: () => ({ [FEED]: feedText("0.9.0", [EXE]) }),
        asks: [LIST, FEED],
        says: "the feed of the app has no such",
      },
    ],
    [
      "of a list that is not there",
      {
        answers: () => ({ [LIST]: (answer) => void answer.writeHead(500).end() }),
        asks: [LIST],
        says: "cannot be fetched",
      },
    ],
    ["of a list without end", { answers: () => ({ [LIST]: endless }), asks: [LIST], says: "larger than any list" }],
    [
      "of a feed that is not there",
      {
        answers: () => ({ [FEED]: (answer) => void answer.writeHead(404).end() }),
        asks: [LIST, FEED],
        says: "Cannot find channel",
      },
    ],
    [
      "of a feed without end",
      { answers: () => ({ [FEED]: endless }), asks: [LIST, FEED], says: "longer than what was signed" },
    ],
    [
      "of a feed that is longer than any",
      {
        answers: () => ({ [FEED]: feedText("1.1.0", [EXE], `#${"x".repeat(FEED_BYTES_MAX)}`) }),
        asks: [LIST, FEED],
        says: "longer than",
      },
    ],
    [
      "of a feed that is no YAML",
      { answers: () => ({ [FEED]: "{{{ <html>" }), asks: [LIST, FEED], says: "Cannot parse update info" },
    ],
    [
      "of a feed that is empty",
      { answers: () => ({ [FEED]: "" }), asks: [LIST, FEED], says: "Cannot parse update info" },
    ],
    ["of a feed that is a word", { answers: () => ({ [FEED]: "1.1.0" }), asks: [LIST, FEED], says: "valid semver" }],
    [
      "of a feed without files",
      { answers: () => ({ [FEED]: "version: 1.1.0" }), asks: [LIST, FEED], says: "not understood" },
    ],
    [
      "of a feed that asks for an administrator",
      {
        answers: () => ({
          [FEED]: feedText("1.1.0", [EXE]).replace("    size:", "    isAdminRightsRequired: true\n    size:"),
        }),
        asks: [LIST, FEED],
        says: "not understood",
      },
    ],
    [
      "of a feed that brings a package beside its file",
      {
        answers: () => ({ [FEED]: feedText("1.1.0", [EXE], "packages:", "  x64:", "    path: more.7z") }),
        asks: [LIST, FEED],
        says: "not understood",
      },
    ],
    [
      "of a feed whose aliases stand for ever more",
      {
        answers: () => {
          const lines = Array.from({ length: 30 }, (_, at) => `a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}]`);
          return { [FEED]: feedText("1.1.0", [EXE], "a: &a-1 [x]", ...lines).replace(/files:/, "files: *a29\nfile:") };
        },
        asks: [LIST, FEED],
        says: "",
      },
    ],
  ];

  test.each(rows)("%s", async (_, row) => {
    Object.assign(answers, row.answers?.());
    const { updates } = await lookOnce(row.current);
    expect(updates.readyVersion).toBeUndefined();
    expect(said).toEqual(row.says === undefined ? [] : [expect.stringContaining(row.says)]);
    expect(said.join("").length).toBeLessThan(500);
    expect(asked).toEqual(row.asks);
    expect(downloaded()).toEqual([]);
  });

  test("of a server that is gone", async () => {
    await stopServer();
    const { updates } = await lookOnce();
    expect(updates.readyVersion).toBeUndefined();
    expect(said).toEqual([expect.stringContaining("cannot be fetched")]);
  });

  test.each([
    ["the feed", FEED],
    ["the file", FILE],
  ])("of a server that says nothing where %s is, for a minute", async (_, path) => {
    const silent = Promise.withResolvers<void>();
    answers[path] = () => silent.resolve();
    const { updates } = startApp();
    const looking = updates.look();
    await silent.promise;
    await clock.advance(SILENT_MS);
    await looking;
    expect(said).toEqual([expect.stringContaining("Nothing came for a minute")]);
    expect(downloaded()).toEqual([]);
  });

  test("of a server that falls silent in the middle of the file", async () => {
    const silent = Promise.withResolvers<void>();
    answers[FILE] = (answer) => {
      answer.writeHead(200, { "content-length": EXE.sizeBytes });
      answer.write(EXE.bytes.subarray(0, 70_000), () => silent.resolve());
    };
    const { updates } = startApp();
    const looking = updates.look();
    await silent.promise;
    // The first bytes have to arrive before the silence begins.
    await new Promise(setImmediate);
    await clock.advance(SILENT_MS);
    await looking;
    expect(said).toEqual([expect.stringContaining("Nothing came for a minute")]);
    expect(downloaded()).toEqual([]);
  });
});
