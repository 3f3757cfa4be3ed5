// Contract of token stores: each engine's test calls it with one that is open.
import { randomBytes } from "node:crypto";
import { expect, test } from "@jest/globals";
import { SECRET_LENGTH_MAX, type TokenStore } from "../../src/agent/secrets/token-store.ts";

const newId = (): string => randomBytes(16).toString("hex");

export function tokenStoreContract(open: () => Promise<TokenStore>): void {
  test("has what was put, also for the next process, until it is removed", async () => {
    const [store, one, two] = [await open(), newId(), newId()];
    await store.check();
    expect(await store.get(one)).toBeUndefined();
    await store.put(one, "first");
    await store.put(two, "other");
    const next = await open();
    expect([await next.get(one), await next.get(two)]).toEqual(["first", "other"]);
    await store.remove(one);
    await store.remove(one);
    expect([await next.get(one), await next.get(two)]).toEqual([undefined, "other"]);
    await store.remove(two);
  });

  test("has the secret that was put last", async () => {
    const [store, id] = [await open(), newId()];
    await store.put(id, "first");
    await store.put(id, "second");
    expect(await store.get(id)).toBe("second");
    await store.remove(id);
    expect(await store.get(id)).toBeUndefined();
  });

  test("gives back every character of a secret, however long, and one of no characters", async () => {
    const [store, id] = [await open(), newId()];
    const pem = "-----BEGIN PRIVATE KEY-----\nMIGH+/=\n-----END PRIVATE KEY-----\n";
    for (const secret of [pem, "\"quoted\" 'too' \\ $(x) `y` %s ä漢", "x".repeat(SECRET_LENGTH_MAX), ""]) {
      await store.put(id, secret);
      expect(await store.get(id)).toBe(secret);
    }
    await store.remove(id);
  });
}
