// Tokens of 256 bits, each with what it stands for. Few at a time, so that each is compared in constant time.
import { randomBytes, timingSafeEqual } from "node:crypto";

const TOKEN_BYTES = 32;

/** Form of a token: base64url. */
export const TOKEN = /^[\w-]{43}$/;

interface Row<T> {
  bytes: Buffer;
  value: T;
}

export class TokenTable<T> {
  #rows: Row<T>[] = [];

  /** Values, the oldest first. */
  get values(): T[] {
    return this.#rows.map(({ value }) => value);
  }

  add(value: T): string {
    const bytes = randomBytes(TOKEN_BYTES);
    this.#rows.push({ bytes, value });
    return bytes.toString("base64url");
  }

  find(token: string): T | undefined {
    if (!TOKEN.test(token)) return undefined;
    const bytes = Buffer.from(token, "base64url");
    return this.#rows.filter((row) => timingSafeEqual(row.bytes, bytes))[0]?.value;
  }

  delete(value: T): void {
    this.#rows = this.#rows.filter((row) => row.value !== value);
  }
}
