// A token store in memory, which can be locked: the reference, and the double in tests.
import { RunnelError } from "@runnel/shared/base";
import type { TokenStore } from "../../token-store.ts";

export class MemoryTokenStore implements TokenStore {
  readonly name = "memory";
  readonly place = "the memory of this process";
  readonly secrets = new Map<string, string>();
  isLocked = false;

  check(): Promise<void> {
    return this.#open(() => undefined);
  }

  get(id: string): Promise<string | undefined> {
    return this.#open(() => this.secrets.get(id));
  }

  put(id: string, secret: string): Promise<void> {
    return this.#open(() => void this.secrets.set(id, secret));
  }

  remove(id: string): Promise<void> {
    return this.#open(() => void this.secrets.delete(id));
  }

  #open<T>(use: () => T): Promise<T> {
    if (!this.isLocked) return Promise.resolve(use());
    return Promise.reject(new RunnelError("Unreachable", "use a secret", "The memory of this process is locked."));
  }
}
