// Puts what lets somebody act as this device into the system's own store, where there is one that opens; else whoever
// asks keeps it as it was, in a file for its user alone. A secret in a store is named by a reference. No secret is
// taken from where it was before the store has given it back whole.
// oxlint-disable-next-line no-restricted-imports -- of names
import { randomBytes } from "node:crypto";
import { fromSystemError, RunnelError } from "@runnel/shared/base";
import { ID_FORM, SECRET_LENGTH_MAX, type TokenStore } from "./token-store.ts";

const ID_BYTES = 16;

export interface SecretsDeps {
  /** Stores that this system may have: those that references lead to. */
  stores: readonly TokenStore[];
  /** The one that new secrets go to; undefined: they stay in files. */
  best: TokenStore | undefined;
}

export class Secrets {
  readonly #deps: SecretsDeps;
  /** Secrets by their references: who dials again and again asks the store once. */
  readonly #known = new Map<string, string>();

  constructor(deps: SecretsDeps) {
    this.#deps = deps;
  }

  /** Names the store that new secrets go to. */
  get bestPlace(): string | undefined {
    return this.#deps.best?.place;
  }

  /** @throws RunnelError Unreachable, saying why new secrets cannot be put into the best store now. */
  async check(): Promise<void> {
    await this.#deps.best?.check();
  }

  isAtBest(reference: string): boolean {
    return this.#deps.best !== undefined && reference.startsWith(`${this.#deps.best.name}:`);
  }

  /**
   * Puts a secret into the best store. @returns a reference to it; undefined when no store takes it, so that it has to
   * be kept otherwise.
   */
  async keep(secret: string): Promise<string | undefined> {
    const { best } = this.#deps;
    if (best === undefined || secret.length > SECRET_LENGTH_MAX) return undefined;
    const id = randomBytes(ID_BYTES).toString("hex");
    try {
      await best.put(id, secret);
      if ((await best.get(id)) !== secret) throw new RunnelError("Corrupt", "keep a secret", "It came back otherwise.");
    } catch {
      // A secret that was put although its answer was lost is nobody's.
      await best.remove(id).catch(() => undefined);
      return undefined;
    }
    const reference = `${best.name}:${id}`;
    this.#known.set(reference, secret);
    return reference;
  }

  /** @throws RunnelError Unreachable while its store does not open, Lost when it has the secret no more. */
  async find(reference: string): Promise<string> {
    const known = this.#known.get(reference);
    if (known !== undefined) return known;
    const { store, id } = this.#at(reference);
    const secret = await store.get(id);
    if (secret === undefined) throw new RunnelError("Lost", "find a secret", `It is not in ${store.place} any more.`);
    this.#known.set(reference, secret);
    return secret;
  }

  /** Removes a secret. @throws RunnelError Unreachable while its store does not open. */
  async drop(reference: string): Promise<void> {
    this.#known.delete(reference);
    const { store, id } = this.#at(reference);
    await store.remove(id);
  }

  placeOf(reference: string): string {
    try {
      return this.#at(reference).store.place;
    } catch (error) {
      return fromSystemError(error, "").message;
    }
  }

  #at(reference: string): { store: TokenStore; id: string } {
    const [name = "", id = "", ...more] = reference.split(":");
    const store = this.#deps.stores.find((each) => each.name === name);
    if (store === undefined || !ID_FORM.test(id) || more.length > 0) {
      const sentence = `Nothing here is a "${name}" that keeps secrets: this login was made on another system, or session.`;
      throw new RunnelError("Unreachable", "find a secret", sentence);
    }
    return { store, id };
  }
}
