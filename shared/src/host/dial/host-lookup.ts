// Addresses of host names. Where the line is away the system's answer hangs, and keeps one of few threads: it is waited
// for once, whoever asks how often, and meanwhile the addresses serve that the name had last.
import type { LookupAddress } from "node:dns";
import { lookup as systemLookup } from "node:dns/promises";
import type { LookupFunction } from "node:net";

type Resolve = (host: string) => Promise<LookupAddress[]>;

/** A resolver that is there answers sooner. */
const KNOWN_AFTER_MS = 300;
/** A client knows few servers. */
const KNOWN_MAX = 64;

export class HostLookup {
  readonly #resolve: Resolve;
  readonly #pending = new Map<string, Promise<LookupAddress[]>>();
  readonly #known = new Map<string, LookupAddress[]>();

  constructor(resolve: Resolve = (host) => systemLookup(host, { all: true })) {
    this.#resolve = resolve;
  }

  /** Lookup function that `connect` is given. */
  readonly lookup: LookupFunction = (host, { all }, callback) => {
    void this.#tell(host, all === true, callback);
  };

  /** @throws what the system says when the name is not known, or was not before and cannot be looked up now. */
  async addresses(host: string): Promise<LookupAddress[]> {
    const fresh = this.#fresh(host);
    const known = this.#known.get(host);
    if (known === undefined) return fresh;
    let timer: NodeJS.Timeout | undefined;
    const overdue = new Promise<LookupAddress[]>((resolve) => {
      timer = setTimeout(() => resolve(known), KNOWN_AFTER_MS);
    });
    try {
      return await Promise.race([fresh, overdue]);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOTFOUND") throw error;
      return known;
    } finally {
      clearTimeout(timer);
    }
  }

  async #tell(host: string, isAll: boolean, callback: Parameters<LookupFunction>[2]): Promise<void> {
    let found: LookupAddress[];
    try {
      found = await this.addresses(host);
    } catch (error) {
      callback(error as NodeJS.ErrnoException, []);
      return;
    }
    if (isAll) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  }

  #fresh(host: string): Promise<LookupAddress[]> {
    const pending = this.#pending.get(host);
    if (pending !== undefined) return pending;
    const asked = this.#ask(host).finally(() => this.#pending.delete(host));
    this.#pending.set(host, asked);
    asked.catch(() => undefined);
    return asked;
  }

  async #ask(host: string): Promise<LookupAddress[]> {
    const found = await this.#resolve(host);
    this.#known.delete(host);
    for (const oldest of this.#known.keys()) if (this.#known.size >= KNOWN_MAX) this.#known.delete(oldest);
    this.#known.set(host, found);
    return found;
  }
}

/** Lookup that the whole process shares. */
export const { lookup } = new HostLookup();
