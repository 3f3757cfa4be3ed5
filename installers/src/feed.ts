// The signed list of updates that `runnel update` reads (app/src/cli/updates/signed-feed.ts). Whoever releases keeps
// the private key; packages carry the public one and the place of the list.
import { type KeyObject, createPrivateKey, createPublicKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { type Feed, type FeedPlace, bytesToSign, readSignedFeed } from "../../app/src/cli/updates/signed-feed.ts";
import type { Release } from "./tree.ts";

export const FEED_FILE = "updates.json";

/** Time that a list is good for: whoever releases packs and signs anew before, also when nothing new was released. */
export const GOOD_MS = 90 * 86_400_000;

export interface FeedSigner {
  place: FeedPlace;
  privateKey: KeyObject;
}

/**
 * Reads from the environment where updates are told, and by whose key. Its public half is enough: a machine that packs
 * for its own system needs no key that signs.
 * @returns undefined when nobody tells of any
 * @throws Error when half of it is missing, or is of another kind
 */
export function placeOf(env: NodeJS.ProcessEnv): FeedPlace | undefined {
  const { RUNNEL_UPDATE_KEY: file, RUNNEL_UPDATE_URL: url } = env;
  if (!file && !url) return undefined;
  if (!file || !url) throw new Error("RUNNEL_UPDATE_KEY and RUNNEL_UPDATE_URL go together: set both, or none.");
  if (!/^https:\/\/[^\s"'&|<>^%]+$/.test(url))
    throw new Error(`${url} is no place for a list of updates: it begins with https://, and has no mark of a shell.`);
  const key = createPublicKey(readFileSync(file));
  if (key.asymmetricKeyType !== "ed25519")
    throw new Error(`${file} is no key of Ed25519. One is made by: openssl genpkey -algorithm ed25519`);
  return { url, keys: [key.export({ format: "der", type: "spki" }).toString("base64")] };
}

/**
 * Reads who signs from the environment, else as `placeOf`.
 * @throws Error when it names the public half of a key
 */
export function signerOf(env: NodeJS.ProcessEnv): FeedSigner | undefined {
  const place = placeOf(env);
  if (place === undefined) return undefined;
  const text = readFileSync(env["RUNNEL_UPDATE_KEY"] ?? "", "utf8");
  if (!text.includes("PRIVATE KEY"))
    throw new Error("RUNNEL_UPDATE_KEY is the public half of a key, which signs nothing: name the private one.");
  return { place, privateKey: createPrivateKey(text) };
}

/** Address of the folder in which the list lies, and what the desktop app downloads. */
export function folderOf({ url }: FeedPlace): string {
  return new URL(".", url).href;
}

/**
 * Text of the list, which is good from now on for a while.
 * @throws RunnelError when those who get it would not believe it
 */
export function signFeed(
  { version, epochSeconds }: Release,
  packages: Feed["packages"],
  { place, privateKey }: FeedSigner,
  nowMs: number,
): string {
  const feed: Feed = { version, releasedMs: epochSeconds * 1000, expiresMs: nowMs + GOOD_MS, packages };
  const text = JSON.stringify(feed);
  const signatures = [sign(null, bytesToSign(text), privateKey).toString("base64")];
  const signed = `${JSON.stringify({ feed: text, signatures }, undefined, 2)}\n`;
  readSignedFeed(signed, place.keys, nowMs);
  return signed;
}
