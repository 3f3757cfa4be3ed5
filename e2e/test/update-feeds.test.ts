// Lists of updates as the packer signs them, and the feeds by which the desktop app updates itself.
import { execFile } from "node:child_process";
import { createHash, createPublicKey, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { checkFile, lookAtFile, readSignedFeed, signedUpdate } from "@runnel/app/internals";
import { isAppFile, writeAppFeeds } from "../../installers/src/app-feed.ts";
import { type FeedSigner, folderOf, placeOf, signFeed, signerOf } from "../../installers/src/feed.ts";
import { productTree } from "../../installers/src/product.ts";

const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const RELEASE = { version: "7.8.9", epochSeconds: 1_000_000_000, level: 6 };
/** Reads a feed as electron-updater does. */
const updater = createRequire(import.meta.url).resolve("electron-updater");
const { load } = createRequire(updater)("js-yaml") as { load(text: string): unknown };

const isHere = process.platform === "linux" && process.arch === "x64";
const testHere = isHere ? test : test.skip;
const shown = isHere ? "" : " (skipped: packages of Linux on x64 are made there)";

describe("a list of updates", () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "runnel-feed-"));
    for (const type of ["ed25519", "ed448"] as const) {
      const { privateKey } = generateKeyPairSync(type as "ed25519");
      writeFileSync(join(folder, type), privateKey.export({ format: "pem", type: "pkcs8" }));
    }
    const key = createPublicKey(readFileSync(join(folder, "ed25519")));
    writeFileSync(join(folder, "public"), key.export({ format: "pem", type: "spki" }));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  const URL_OF_LIST = "https://example.org/updates.json";
  const signer = (): FeedSigner => {
    const found = signerOf({ RUNNEL_UPDATE_KEY: join(folder, "ed25519"), RUNNEL_UPDATE_URL: URL_OF_LIST });
    if (found === undefined) throw new Error("Nobody signs.");
    return found;
  };

  testHere(`is looked for where the packages say, by the key that they carry${shown}`, () => {
    expect(productTree(ROOT, RELEASE).has("update-feed.json")).toBe(false);
    const entry = productTree(ROOT, RELEASE, signer().place).get("update-feed.json");
    expect(JSON.parse(entry !== undefined && "text" in entry ? entry.text : "null")).toEqual(signer().place);
    expect(signer().place).toEqual({ url: URL_OF_LIST, keys: [expect.stringMatching(/^MCowBQYDK2VwAyEA/)] });
  });

  test("is looked for by packages of machines that have the public half of the key alone", () => {
    const place = placeOf({ RUNNEL_UPDATE_KEY: join(folder, "public"), RUNNEL_UPDATE_URL: URL_OF_LIST });
    expect(place).toEqual(signer().place);
    expect(place && folderOf(place)).toBe("https://example.org/");
  });

  test("says what was made and until when it is good, and is not made when nobody would believe it", () => {
    const packages = [{ name: "runnel_7.8.9_amd64.deb", sizeBytes: 3, sha256: "0".repeat(64) }];
    const releasedMs = RELEASE.epochSeconds * 1000;
    const nowMs = releasedMs + 5 * 86_400_000;
    const { feed } = JSON.parse(signFeed(RELEASE, packages, signer(), nowMs)) as { feed: string };
    const expiresMs = nowMs + 90 * 86_400_000;
    expect(JSON.parse(feed)).toEqual({ version: "7.8.9", releasedMs, expiresMs, packages });
    const { privateKey } = generateKeyPairSync("ed25519");
    expect(() => signFeed(RELEASE, packages, { ...signer(), privateKey }, nowMs)).toThrow(/Install nothing/);
  });

  test.each<[string, NodeJS.ProcessEnv, RegExp | undefined]>([
    ["nothing", {}, undefined],
    ["no place", { RUNNEL_UPDATE_KEY: "ed25519" }, /go together/],
    ["no key", { RUNNEL_UPDATE_URL: URL_OF_LIST }, /go together/],
    [
      "a place that a shell would not pass on",
      { RUNNEL_UPDATE_KEY: "ed25519", RUNNEL_UPDATE_URL: "https://a/&b" },
      /https/,
    ],
    ["the public half of a key", { RUNNEL_UPDATE_KEY: "public", RUNNEL_UPDATE_URL: URL_OF_LIST }, /signs nothing/],
    ["a place that anybody can change", { RUNNEL_UPDATE_KEY: "ed25519", RUNNEL_UPDATE_URL: "http://a" }, /https/],
    ["another kind of key", { RUNNEL_UPDATE_KEY: "ed448", RUNNEL_UPDATE_URL: URL_OF_LIST }, /no key of Ed25519/],
  ])("is signed by nobody who gives %s", (_, env, refusal) => {
    const key = env["RUNNEL_UPDATE_KEY"];
    const asks = (): unknown =>
      signerOf({ ...env, ...(key === undefined ? {} : { RUNNEL_UPDATE_KEY: join(folder, key) }) });
    if (refusal === undefined) expect(asks()).toBeUndefined();
    else expect(asks).toThrow(refusal);
  });
});

describe("the feed of the desktop app", () => {
  let folder: string;
  const made = ["x64.exe", "arm64.dmg", "arm64.zip", "x64.dmg", "x64.zip"].map((each) => `Runnel-app-7.8.9-${each}`);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "runnel-app-feed-"));
    for (const name of made) writeFileSync(join(folder, name), `bytes of ${name}`);
    for (const name of ["Runnel-app-7.8.8-x64.exe", "Runnel-app-7.8.9-x64.exe.blockmap", "runnel-7.8.9-setup.exe"])
      writeFileSync(join(folder, name), "of another");
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  test("names what was made of this version, for each system, as electron-builder writes it", () => {
    const paths = writeAppFeeds(RELEASE, folder).map((path) => basename(path));
    expect(paths.toSorted()).toEqual([...made, "latest-mac.yml", "latest.yml"].toSorted());
    expect(paths.filter(isAppFile).toSorted()).toEqual(made.toSorted());
    const sha512 = createHash("sha512").update("bytes of Runnel-app-7.8.9-x64.exe").digest("base64");
    const of = (name: string): string => readFileSync(join(folder, name), "utf8");
    expect(of("latest.yml")).toBe(
      `version: 7.8.9\nfiles:\n  - url: Runnel-app-7.8.9-x64.exe\n    sha512: ${sha512}\n    size: 33\n` +
        `path: Runnel-app-7.8.9-x64.exe\nsha512: ${sha512}\nreleaseDate: '2001-09-09T01:46:40.000Z'\n`,
    );
    const urls = [...of("latest-mac.yml").matchAll(/url: Runnel-app-7\.8\.9-(.*)/g)].map(([, name]) => name);
    expect(urls).toEqual(["arm64.zip", "x64.zip", "arm64.dmg", "x64.dmg"]);
  });

  test("is refused where there is no app, or no archive of which one on a Mac updates itself", () => {
    expect(() => writeAppFeeds({ ...RELEASE, version: "7.9.0" }, folder)).toThrow(/No app of 7\.9\.0 lies in/);
    expect(() => writeAppFeeds(RELEASE, join(folder, "none"))).toThrow(/No app of/);
    rmSync(join(folder, "Runnel-app-7.8.9-x64.zip"));
    expect(() => writeAppFeeds(RELEASE, folder)).toThrow(/x64\.dmg lies in .* without its archive/);
  });

  testHere(
    `is what the app believes with the signed list, both made by the packer itself${shown}`,
    async () => {
      const { privateKey } = generateKeyPairSync("ed25519");
      const key = join(folder, "key.pem");
      writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }));
      const env = { ...process.env, RUNNEL_UPDATE_KEY: key, RUNNEL_UPDATE_URL: "https://example.org/a/updates.json" };
      const args = ["installers/main.ts", "app", "--out", folder, "--version", "7.8.9"];
      await promisify(execFile)(process.execPath, args, { cwd: ROOT, env });
      const place = placeOf(env);
      const text = readFileSync(join(folder, "updates.json"), "utf8");
      const list = readSignedFeed(text, place?.keys ?? [], Date.now());
      for (const feed of ["latest.yml", "latest-mac.yml"]) {
        const offered = load(readFileSync(join(folder, feed), "utf8"));
        const update = signedUpdate(list, offered, "7.8.8");
        const name = update.files[0]?.name ?? "";
        checkFile(update, await lookAtFile(join(folder, name)));
        writeFileSync(join(folder, name), "another");
        const changed = await lookAtFile(join(folder, name));
        expect(() => checkFile(update, changed)).toThrow(/is not what was signed/);
      }
    },
    60_000,
  );
});
