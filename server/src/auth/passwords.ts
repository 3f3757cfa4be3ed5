// Passwords, as they are kept: by argon2id (RFC 9106), or scrypt (RFC 7914) where Node has no argon2. Each takes 19 MiB
// and some 50 ms of a thread, so that few are looked at at a time.
import crypto, { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { RunnelError } from "@runnel/shared";
import { Semaphore } from "../host/semaphore.ts";
import type { StoredPassword } from "./people-file.ts";

/** OWASP's choice for argon2id of 2025: 19 MiB, two passes, one lane. */
const ARGON2 = { memoryKib: 19 * 1024, passes: 2, lanes: 1 } as const;
/** The same source's for scrypt, of about the same memory. */
const SCRYPT = { cost: 2 ** 14, blockSize: 8, lanes: 5 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const AT_ONCE = 2;
/** Passwords that wait; more are told to come again. */
const WAITING_MAX = 32;

export class Passwords {
  readonly #turns = new Semaphore(AT_ONCE);
  #count = 0;
  /** Stands for the password of those who have none: looking at it takes as long as at any other. */
  #nobodys: Promise<StoredPassword> | undefined;

  /** @throws RunnelError Busy when too many are being looked at. */
  async store(password: string): Promise<StoredPassword> {
    const salt = randomBytes(SALT_BYTES);
    const kept = hasArgon2() ? ({ kdf: "argon2id", ...ARGON2 } as const) : ({ kdf: "scrypt", ...SCRYPT } as const);
    const stored = { ...kept, salt: salt.toString("base64url"), hash: "" };
    const hash = await this.#inTurn(() => derive(password, stored));
    return { ...stored, hash: hash.toString("base64url") };
  }

  /** Takes as long when there is no password. @throws RunnelError Busy as store(). */
  async isRight(password: string, stored: StoredPassword | undefined): Promise<boolean> {
    this.#nobodys ??= this.store(randomBytes(SALT_BYTES).toString("base64url"));
    const compared = stored ?? (await this.#nobodys);
    const hash = await this.#inTurn(() => derive(password, compared));
    const expected = Buffer.from(compared.hash, "base64url");
    return stored !== undefined && hash.length === expected.length && timingSafeEqual(hash, expected);
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#count >= AT_ONCE + WAITING_MAX)
      throw new RunnelError("Busy", "sign in", "Too many people sign in at this moment. Try again in a moment.", {
        detail: { retryAfterMs: 1000 },
      });
    this.#count += 1;
    try {
      return await this.#turns.run(work);
    } finally {
      this.#count -= 1;
    }
  }
}

/** Node has it from 24.7 on. */
function hasArgon2(): boolean {
  return typeof crypto.argon2 === "function";
}

/** The same characters make the same bytes, however they were typed (RFC 8265 §4.2.2). */
function bytesOf(password: string): Buffer {
  return Buffer.from(password.normalize("NFC"));
}

function derive(password: string, stored: StoredPassword): Promise<Buffer> {
  const message = bytesOf(password);
  const salt = Buffer.from(stored.salt, "base64url");
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, hash: Buffer): void => (error === null ? resolve(hash) : reject(error));
    if (stored.kdf === "argon2id") {
      const { memoryKib, passes, lanes } = stored;
      const settings = { message, nonce: salt, parallelism: lanes, tagLength: HASH_BYTES, memory: memoryKib, passes };
      crypto.argon2("argon2id", settings, done);
      return;
    }
    const { cost, blockSize, lanes } = stored;
    const maxmem = 256 * cost * blockSize * lanes;
    scrypt(message, salt, HASH_BYTES, { N: cost, r: blockSize, p: lanes, maxmem }, done);
  });
}
