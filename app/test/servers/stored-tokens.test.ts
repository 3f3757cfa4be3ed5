// Tokens in the system's store: how they get there, and that none is lost on the way, whatever fails and when.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { MemoryTokenStore } from "../../src/agent/secrets/host/memory/token-store.ts";
import { Secrets } from "../../src/agent/secrets/secrets.ts";
import { checkLogins } from "../../src/agent/servers/check-logins.ts";
import { KnownServers } from "../../src/agent/servers/known-servers.ts";

const PLACE = "files.example.org:7473";
const URL = `wss://${PLACE}/docs`;
const SERVER = { place: PLACE, token: "t".repeat(43), device: "laptop", volumes: [] };
const OLD = { format: 1, servers: [SERVER] };
const OLD_FILE = JSON.stringify(OLD);

let folder: string;
let path: string;
let store: MemoryTokenStore;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "rnl-"));
  path = join(folder, "servers.json");
  store = new MemoryTokenStore();
});
afterEach(() => rmSync(folder, { recursive: true }));

const secretsOf = (best: MemoryTokenStore | "none"): Secrets =>
  new Secrets({ stores: [store], best: best === "none" ? undefined : best });
/** An agent's next life. */
const reopened = (best: MemoryTokenStore | "none" = store): KnownServers => {
  const secrets = secretsOf(best);
  return new KnownServers(path, () => Promise.resolve(secrets));
};
const text = (): string => readFileSync(path, "utf8");

test("[F92] [F230] a token that a store takes is in no file, and comes back from the store", async () => {
  await reopened().keep(SERVER);
  expect(text()).not.toContain(SERVER.token);
  expect(text()).toMatch(/"format": 2/);
  expect(await reopened().tokenFor(URL)).toBe(SERVER.token);
  expect([...store.secrets.values()]).toEqual([SERVER.token]);
});

test("[F230] one that no store takes stays in the file, in the form that an older Runnel reads", async () => {
  store.isLocked = true;
  await reopened().keep(SERVER);
  expect(JSON.parse(text())).toEqual(OLD);
  expect(await reopened().tokenFor(URL)).toBe(SERVER.token);
});

test("[F230] one of an older Runnel moves to the store when it is first used, and back when none is wanted", async () => {
  writeFileSync(path, OLD_FILE);
  const servers = reopened();
  expect(await servers.tokenFor(URL)).toBe(SERVER.token);
  await servers.settle(PLACE);
  expect(text()).not.toContain(SERVER.token);
  expect(store.secrets.size).toBe(1);

  await reopened("none").settle(PLACE);
  expect(JSON.parse(text())).toEqual(OLD);
  expect(store.secrets.size).toBe(0);
});

test("a login anew leaves one secret in the store, and one with the same token none besides", async () => {
  await reopened().keep(SERVER);
  await reopened().keep({ ...SERVER, device: "renamed" });
  expect([await reopened().tokenFor(URL), reopened().find(PLACE)?.device]).toEqual([SERVER.token, "renamed"]);
  await reopened().keep({ ...SERVER, token: "n".repeat(43) });
  expect([...store.secrets.values()]).toEqual(["n".repeat(43)]);
  expect(await reopened().tokenFor(URL)).toBe("n".repeat(43));
});

test("while the store is locked a token is unreachable and not lost, a right is learned, a logout says what stays", async () => {
  await reopened().keep(SERVER);
  store.isLocked = true;
  const servers = reopened();
  await expect(servers.tokenFor(URL)).rejects.toMatchObject({ kind: "Unreachable" });
  servers.learnRight(URL, true);
  await servers.settle(PLACE);
  store.isLocked = false;
  expect(await servers.tokenFor(URL)).toBe(SERVER.token);
  expect(servers.isReadOnly(URL)).toBe(true);
  store.isLocked = true;
  expect([await servers.forget(PLACE), reopened().places()]).toEqual([false, []]);
});

test("a token that somebody took from the store is told as such: only an invite helps", async () => {
  await reopened().keep(SERVER);
  store.secrets.clear();
  await expect(reopened().tokenFor(URL)).rejects.toMatchObject({
    kind: "Denied",
    message: expect.stringMatching("new invite") as unknown,
  });
});

test.each(["memory", "memory:", "memory:../x", "elsewhere:0123456789abcdef0123456789abcdef", ":::"])(
  "a reference of another form (%j) leads to no store, and costs no login",
  async (secret) => {
    const { token: _token, ...server } = SERVER;
    writeFileSync(path, JSON.stringify({ format: 2, servers: [{ ...server, secret }] }));
    const before = text();
    await expect(reopened().tokenFor(URL)).rejects.toMatchObject({ kind: "Unreachable" });
    await reopened()
      .settle(PLACE)
      .catch(() => undefined);
    expect(text()).toBe(before);
  },
);

/** Steps of a store: those after the n-th never return, as when the process is killed there. */
class EndingStore extends MemoryTokenStore {
  stepsLeft = Infinity;

  override get(id: string): Promise<string | undefined> {
    return this.#step(() => super.get(id));
  }

  override put(id: string, secret: string): Promise<void> {
    return this.#step(() => super.put(id, secret));
  }

  override remove(id: string): Promise<void> {
    return this.#step(() => super.remove(id));
  }

  /** The last step is done, and nobody hears of it. */
  async #step<T>(take: () => Promise<T>): Promise<T> {
    if (this.stepsLeft-- <= 0) return new Promise(() => undefined);
    const taken = await take();
    return this.stepsLeft === 0 ? new Promise(() => undefined) : taken;
  }
}

describe.each([0, 1, 2, 3, 4, 5])("an agent that is killed after %i steps of its store", (steps) => {
  test.each([
    ["a move to the store", OLD_FILE, (servers: KnownServers) => servers.settle(PLACE)],
    ["a login anew", OLD_FILE, (servers: KnownServers) => servers.keep({ ...SERVER, token: "n".repeat(43) })],
  ])("[F230] in %s has one of both tokens whole", async (_title, before, change) => {
    const ending = new EndingStore();
    store = ending;
    writeFileSync(path, before);
    ending.stepsLeft = steps;
    const changing = change(reopened(ending));
    await Promise.race([changing, new Promise((turns) => setImmediate(() => setImmediate(turns)))]);
    ending.stepsLeft = Infinity;
    const token = await reopened(ending).tokenFor(URL);
    expect([SERVER.token, "n".repeat(43)]).toContain(token);
    // File and store agree again after the next start.
    const next = reopened(ending);
    await next.settle(PLACE);
    expect(text()).not.toContain(SERVER.token);
    expect(await reopened(ending).tokenFor(URL)).toBe(token);
  });
});

test("a store that gives back something else keeps nothing: the token stays where it was", async () => {
  class LyingStore extends MemoryTokenStore {
    override get(): Promise<string> {
      return Promise.resolve("something else");
    }
  }
  store = new LyingStore();
  writeFileSync(path, OLD_FILE);
  await reopened(store).settle(PLACE);
  expect([text(), store.secrets.size]).toEqual([OLD_FILE, 0]);
});

describe("the doctor", () => {
  const checked = (best: MemoryTokenStore | "none" = store): ReturnType<typeof checkLogins> => {
    const secrets = secretsOf(best);
    return checkLogins(new KnownServers(path, () => Promise.resolve(secrets)), secrets, path);
  };

  test("says nothing of logins where there are none", async () => {
    expect(await checked()).toEqual([]);
  });

  test("says where tokens lie, and why not in the store", async () => {
    await reopened().keep(SERVER);
    expect(await checked()).toMatchObject([
      { isFine: true, sentence: `The token of one server lies in ${store.place}.` },
    ]);
    store.isLocked = true;
    await reopened().keep({ ...SERVER, place: "other:1" });
    expect(await checked()).toMatchObject([
      { isFine: false, sentence: expect.stringMatching("cannot be had.*locked") as unknown },
      { isFine: true, sentence: expect.stringMatching("only you can read.*locked") as unknown },
    ]);
  });
});
