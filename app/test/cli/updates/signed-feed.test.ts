// Lists of updates: what is not signed by a known key is not believed, whatever else is right.
import { generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { describeUpdate, updateIn } from "../../../src/cli/verbs/update.ts";
import { FEED_BYTES_MAX, type Feed, isNewer, readSignedFeed } from "../../../src/cli/updates/signed-feed.ts";
import { newPair, signatureOf, signed } from "./signed-lists.ts";

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;
const FEED: Feed = {
  version: "1.10.0",
  releasedMs: NOW - DAY,
  expiresMs: NOW + DAY,
  packages: [{ name: "runnel_1.10.0_amd64.deb", sizeBytes: 5, sha256: "ab".repeat(32) }],
};

const OURS = newPair();
const OTHER = newPair();

const read = (text: string, keys = [OURS.key], nowMs = NOW): Feed => readSignedFeed(text, keys, nowMs);

/** The kind of the error that reading throws; throws when it does not. */
function refusal(text: string, keys?: string[], nowMs?: number): string {
  try {
    read(text, keys, nowMs);
  } catch (error) {
    return (error as { kind: string }).kind;
  }
  throw new Error("It was believed.");
}

describe("a list of updates", () => {
  test("is believed when a known key has signed it", () => {
    expect(read(signed(FEED, OURS))).toEqual(FEED);
  });

  test("is believed with the old key or the new one while both are known", () => {
    expect(read(signed(FEED, OURS), [OTHER.key, OURS.key])).toEqual(FEED);
    expect(read(signed(FEED, OTHER, OURS))).toEqual(FEED);
  });

  const text = JSON.stringify(FEED);
  const ours = signatureOf(text, OURS);
  const bare = sign(null, Buffer.from(text), OURS.privateKey).toString("base64");
  test.each<[string, string, string]>([
    ["that nobody has signed", signed(FEED), "Denied"],
    ["that another has signed", signed(FEED, OTHER), "Denied"],
    ["whose text was changed", JSON.stringify({ feed: text.replace("1.10", "9.10"), signatures: [ours] }), "Denied"],
    ["whose blanks were changed", JSON.stringify({ feed: `${text} `, signatures: [ours] }), "Denied"],
    ["with a signature that is cut", JSON.stringify({ feed: text, signatures: [ours.slice(0, 40)] }), "Denied"],
    ["with a signature of the text for another use", JSON.stringify({ feed: text, signatures: [bare] }), "Denied"],
    ["without signatures", JSON.stringify({ feed: text }), "Corrupt"],
    ["with too many signatures", JSON.stringify({ feed: text, signatures: Array(17).fill(ours) }), "Corrupt"],
    ["that is no JSON", "<html>", "Corrupt"],
    ["that is a list alone", text, "Corrupt"],
    ["that is signed and says a version that is none", signed({ ...FEED, version: "1.10.0-x" }, OURS), "Corrupt"],
    [
      "that is signed and whose second digest is none",
      signed({ ...FEED, packages: [{ ...FEED.packages[0], sha512: "ab".repeat(64) }] }, OURS),
      "Corrupt",
    ],
    [
      "that is signed and names a path",
      signed({ ...FEED, packages: [{ ...FEED.packages[0], name: "../../bin/sh" }] }, OURS),
      "Corrupt",
    ],
    ["that is larger than any", " ".repeat(FEED_BYTES_MAX) + signed(FEED, OURS), "TooLarge"],
  ])("%s is refused", (_, given, kind) => {
    expect(refusal(given)).toBe(kind);
  });

  test("is not read where a key is damaged, or of another kind", () => {
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const rsa = publicKey.export({ format: "der", type: "spki" }).toString("base64");
    for (const key of ["", "AA==", OURS.key.slice(0, 20), rsa])
      expect(refusal(signed(FEED, OURS), [OURS.key, key])).toBe("Corrupt");
  });

  test("is refused once it is too old, to the millisecond", () => {
    expect(read(signed(FEED, OURS), [OURS.key], FEED.expiresMs)).toEqual(FEED);
    expect(refusal(signed(FEED, OURS), [OURS.key], FEED.expiresMs + 1)).toBe("Unavailable");
  });

  test("is refused when any one byte of it is another", () => {
    const good = signed(FEED, OURS);
    fc.assert(
      fc.property(fc.nat(good.length - 1), fc.integer({ min: 32, max: 126 }), (at, code) => {
        const changed = good.slice(0, at) + String.fromCharCode(code) + good.slice(at + 1);
        let accepted: Feed | undefined;
        try {
          accepted = read(changed);
        } catch {
          return;
        }
        // Base64 ends in bits that say nothing, and JSON writes a character in several ways: the list is the same.
        expect(accepted).toEqual(FEED);
      }),
      { numRuns: 300 },
    );
  });

  test("is an update only when its version is newer: numbers, not letters", () => {
    expect(isNewer("1.10.0", "1.9.9")).toBe(true);
    expect(isNewer("2.0.0", "1.99.99")).toBe(true);
    expect(isNewer("1.9.9", "1.10.0")).toBe(false);
    expect(isNewer("1.10.0", "1.10.0")).toBe(false);
    expect(updateIn(FEED, "1.11.0")).toEqual({
      version: "1.10.0",
      current: "1.11.0",
      isNewer: false,
      releasedMs: FEED.releasedMs,
      packages: [],
    });
    expect(describeUpdate(updateIn(FEED, "1.11.0"))).toEqual(["1.11.0 is the newest version."]);
    expect(describeUpdate(updateIn(FEED, "1.9.0"))).toEqual([
      "1.10.0 is out; this is 1.9.0. Its packages, by their SHA-256 (sha256sum --check):",
      `${"ab".repeat(32)}  runnel_1.10.0_amd64.deb`,
    ]);
  });
});
