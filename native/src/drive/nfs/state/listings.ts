// Listings of folders, given out page by page. The cookie of a name is made of the name alone, and names come in the
// order of their cookies: a client that goes on with a cookie, however much later and whatever has changed, gets every
// name that stayed exactly once. A listing is kept for the pages after the first one.
import { hash } from "node:crypto";
import type { Clock, Timer } from "@runnel/shared/model";
import type { NodeCalls } from "../node-calls.ts";
import { NfsError } from "../status.ts";
import { STATUS } from "../wire/constants.ts";
import type { Credentials } from "../wire/rpc.ts";

export interface ListedName {
  name: string;
  node: number;
  cookie: bigint;
}

/** Cookies of "." and ".."; 0 begins a listing. */
const SELF = 1n;
const PARENT = 2n;
const COOKIE_BITS = 62;
/** Clients read on at once, or never. */
const KEPT_MS = 5000;
const KEPT_MAX = 8;
/** More names than a folder may have. */
const ALL = 2 ** 31;

interface Kept {
  names: readonly ListedName[];
  timer: Timer;
}

export class Listings {
  readonly #calls: NodeCalls;
  readonly #clock: Clock;
  readonly #kept = new Map<number, Kept>();

  constructor(calls: NodeCalls, clock: Clock) {
    this.#calls = calls;
    this.#clock = clock;
  }

  /** The names after a cookie; 0n: all of now. @throws NfsError */
  async after(who: Credentials, folder: { id: number; node: number }, cookie: bigint): Promise<readonly ListedName[]> {
    const kept = cookie === 0n ? undefined : this.#kept.get(folder.node);
    const names = kept?.names ?? (await this.#list(who, folder.id));
    this.#keep(folder.node, names);
    return cookie === 0n ? names : names.slice(firstAfter(names, cookie));
  }

  /** Forgets what is kept. */
  close(): void {
    for (const { timer } of this.#kept.values()) timer.cancel();
    this.#kept.clear();
  }

  async #list(who: Credentials, id: number): Promise<ListedName[]> {
    const { handle } = await this.#calls.call(who, "opendir", { id });
    if (handle === undefined) throw new NfsError(STATUS.IO);
    try {
      const { names = [] } = await this.#calls.call(who, "readdir", { handle, offset: 0, count: ALL, plus: false });
      const listed = names.map(({ name, stat }) => ({ name, node: stat.ino, cookie: cookieOf(name) }));
      return listed.sort((a, b) => (a.cookie < b.cookie ? -1 : a.cookie > b.cookie ? 1 : 0));
    } finally {
      await this.#calls.call(who, "releasedir", { handle });
    }
  }

  #keep(node: number, names: readonly ListedName[]): void {
    this.#drop(node);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < KEPT_MAX) break;
      this.#drop(oldest);
    }
    this.#kept.set(node, { names, timer: this.#clock.after(KEPT_MS, () => this.#kept.delete(node)) });
  }

  #drop(node: number): void {
    this.#kept.get(node)?.timer.cancel();
    this.#kept.delete(node);
  }
}

function cookieOf(name: string): bigint {
  if (name === ".") return SELF;
  if (name === "..") return PARENT;
  const bits = hash("sha1", name, "buffer").readBigUInt64BE() >> BigInt(64 - COOKIE_BITS);
  return bits + PARENT + 1n;
}

/** Index of the first name with a larger cookie. */
function firstAfter(names: readonly ListedName[], cookie: bigint): number {
  let low = 0;
  let high = names.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((names[middle]?.cookie ?? 0n) <= cookie) low = middle + 1;
    else high = middle;
  }
  return low;
}
