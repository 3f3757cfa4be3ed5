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
 * Reads who signs from the environment.
 * @returns undefined when nobody does
 * @throws Error when half of it is missing, or is of another kind
 */
export function signerOf(env: NodeJS.ProcessEnv): FeedSigner | undefined {
  const { RUNNEL_UPDATE_KEY: file, RUNNEL_UPDATE_URL: url } = env;
  if (!file && !url) return undefined;
  if (!file || !url) throw new Error("RUNNEL_UPDATE_KEY and RUNNEL_UPDATE_URL go together: set both, or none.");
  if (!/^https:\/\/\S+$/.test(url))
    throw new Error(`${url} is no place for a list of updates: it begins with https://.`);
  const privateKey = createPrivateKey(readFileSync(file));
  if (privateKey.asymmetricKeyType !== "ed25519")
    throw new Error(`${file} is no key of Ed25519. One is made by: openssl genpkey -algorithm ed25519`);
  const key = createPublicKey(privateKey).export({ format: "der", type: "spki" }).toString("base64");
  return { place: { url, keys: [key] }, privateKey };
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
