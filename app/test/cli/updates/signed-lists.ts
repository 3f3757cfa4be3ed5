// Signed lists of updates for tests, and keys that sign them.
import { type KeyObject, generateKeyPairSync, sign } from "node:crypto";
import { bytesToSign } from "../../../src/cli/updates/signed-feed.ts";

export interface Pair {
  privateKey: KeyObject;
  /** Public half, as a copy of Runnel carries it. */
  key: string;
}

export function newPair(): Pair {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return { privateKey, key: publicKey.export({ format: "der", type: "spki" }).toString("base64") };
}

export const signatureOf = (text: string, { privateKey }: Pair): string =>
  sign(null, bytesToSign(text), privateKey).toString("base64");

/** Text of a list that these have signed. */
export function signed(feed: unknown, ...pairs: Pair[]): string {
  const text = JSON.stringify(feed);
  return JSON.stringify({ feed: text, signatures: pairs.map((pair) => signatureOf(text, pair)) });
}
