// The list of what was released last, and who signed it: nothing of a list is believed that no known key has signed.
// Pure; host/ reads it. installers/src/feed.ts writes it; `runnel update` and the desktop app (app/src/main/updates)
// read it.
import { type KeyObject, createPublicKey, verify } from "node:crypto";
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";

/** A list names a handful of packages. */
export const FEED_BYTES_MAX = 64 * 1024;

/** Stands before what is signed: no other signature of the same key can be taken for one of a list. */
const SIGNED_AS = "runnel updates 1\n";

const OPERATION = "look for an update";

export const Feed = z.object({
  version: z.string().regex(/^\d{1,6}\.\d{1,6}\.\d{1,6}$/),
  /** Milliseconds since 1970. After `expiresMs` the list is not believed: whoever holds back newer ones is noticed. */
  releasedMs: z.int().nonnegative(),
  expiresMs: z.int().nonnegative(),
  packages: z.array(
    z.object({
      name: z.string().regex(/^[\w.+-]{1,200}$/),
      sizeBytes: z.int().nonnegative(),
      sha256: z.string().regex(/^[0-9a-f]{64}$/),
      /** Base64, as electron-updater compares it: a file that the desktop app may download by itself has one. */
      sha512: z
        .string()
        .regex(/^[A-Za-z0-9+/]{86}==$/)
        .optional(),
    }),
  ),
});
export type Feed = z.infer<typeof Feed>;

const SignedFeed = z.object({
  /** The list as JSON, byte for byte as it was signed. */
  feed: z.string(),
  /** Base64, each by some key. */
  signatures: z.array(z.string().max(200)).max(16),
});

/** Public keys of Ed25519 in base64 of their DER (SPKI), and where the list is. */
export const FeedPlace = z.object({ url: z.url(), keys: z.array(z.string()).min(1).max(16) });
export type FeedPlace = z.infer<typeof FeedPlace>;

/** The bytes that a key signs. */
export function bytesToSign(feed: string): Buffer {
  return Buffer.from(SIGNED_AS + feed);
}

/**
 * Reads a list that one of the keys has signed.
 * @throws RunnelError Denied when none has, Corrupt when it is no list or a key is none, TooLarge, Unavailable when it
 *   is too old
 */
export function readSignedFeed(text: string, keys: readonly string[], nowMs: number): Feed {
  if (Buffer.byteLength(text) > FEED_BYTES_MAX)
    throw new RunnelError("TooLarge", OPERATION, "The list of updates is larger than any list is.");
  const signed = parse(SignedFeed, text);
  const bytes = bytesToSign(signed.feed);
  const isSigned = keys
    .map(publicKey)
    .some((key) => signed.signatures.some((signature) => isBy(key, bytes, signature)));
  if (!isSigned) {
    const sentence =
      "Nobody whom this copy of Runnel knows has signed the list of updates. Install nothing that it names.";
    throw new RunnelError("Denied", OPERATION, sentence);
  }
  const feed = parse(Feed, signed.feed);
  if (feed.expiresMs < nowMs) {
    const until = new Date(feed.expiresMs).toISOString().slice(0, 10);
    const why = "newer ones are held back, or this computer's clock is wrong";
    throw new RunnelError("Unavailable", OPERATION, `The list of updates was good until ${until}: ${why}.`);
  }
  return feed;
}

function isBy(key: KeyObject, bytes: Buffer, signature: string): boolean {
  return verify(null, bytes, key, Buffer.from(signature, "base64"));
}

function publicKey(text: string): KeyObject {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch {
    // It is none.
  }
  throw new RunnelError("Corrupt", OPERATION, "A key of this copy of Runnel is damaged: install Runnel anew.");
}

function parse<T>(schema: z.ZodType<T>, text: string): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new RunnelError("Corrupt", OPERATION, "The list of updates cannot be read: it is none, or damaged.", {
      cause,
    });
  }
}

/** Returns true when `version` was made after `than`. Both are three numbers. */
export function isNewer(version: string, than: string): boolean {
  const [a, b] = [version, than].map((each) => each.split(".").map(Number));
  const at = a?.findIndex((number, index) => number !== b?.[index]) ?? -1;
  return at !== -1 && (a?.[at] ?? 0) > (b?.[at] ?? 0);
}
