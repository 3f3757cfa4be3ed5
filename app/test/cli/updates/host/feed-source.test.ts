// The place where a copy of Runnel looks for updates, and how much of an answer it takes.
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { fetchFeed, placeFileFor, readFeedPlace } from "../../../../src/cli/updates/host/feed-source.ts";
import { FEED_BYTES_MAX } from "../../../../src/cli/updates/signed-feed.ts";

let folder: string;
let url: string;
const server = createServer(({ url: path }, answer) => {
  if (path === "/silent") return;
  if (path === "/endless") {
    const more = (): void => {
      while (answer.write("x".repeat(10_000)) && !answer.destroyed);
    };
    answer.on("drain", more);
    more();
    return;
  }
  answer.writeHead(path === "/updates.json" ? 200 : 500).end("a list");
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "runnel-feed-"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

describe("the place of updates", () => {
  test("is beside the folder of the program, of sources and of one file, whatever folders lie above", () => {
    const inSources = join("/opt", "app", "runnel", "app", "src", "cli", "updates", "host", "feed-source.ts");
    for (const program of [inSources, join("/opt", "app", "runnel", "app", "cli", "main.js")])
      expect(placeFileFor(program)).toBe(join("/opt", "app", "runnel", "update-feed.json"));
  });

  test("is none in a clone", async () => {
    expect(await readFeedPlace()).toBeUndefined();
  });

  test("is read from its file, which is refused when it is damaged", async () => {
    const path = join(folder, "update-feed.json");
    writeFileSync(path, '{"url":"https://example.org/updates.json","keys":["AA=="]}');
    expect(await readFeedPlace(path)).toEqual({ url: "https://example.org/updates.json", keys: ["AA=="] });
    for (const text of ["", "{}", '{"url":"https://example.org","keys":[]}', '{"url":"no place","keys":["AA=="]}']) {
      writeFileSync(path, text);
      await expect(readFeedPlace(path)).rejects.toMatchObject({ kind: "Corrupt" });
    }
  });
});

describe("a list that is fetched", () => {
  test("is what the place answers", async () => {
    expect(await fetchFeed(`${url}/updates.json`)).toBe("a list");
  });

  test("is not waited for longer than so, and cut where no list is as long", async () => {
    await expect(fetchFeed(`${url}/silent`, 100)).rejects.toMatchObject({ kind: "Unreachable" });
    await expect(fetchFeed(`${url}/none`)).rejects.toMatchObject({ kind: "Unreachable" });
    const { length } = await fetchFeed(`${url}/endless`);
    expect(length).toBeGreaterThan(FEED_BYTES_MAX);
    expect(length).toBeLessThan(FEED_BYTES_MAX * 4);
  });
});
