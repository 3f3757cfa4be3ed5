// The token store of Linux against a real keyring: open, locked, dead, halted and without any.
import { readdirSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { SimulatedClock } from "@runnel/shared";
import { SecretService } from "../../../src/agent/secrets/host/linux/token-store.ts";
import { tokenStoreContract } from "../token-store-contract.ts";
import { RealKeyring, whyNoKeyring } from "./real-keyring.ts";

const ID = "0123456789abcdef0123456789abcdef";
const UNREACHABLE = { kind: "Unreachable" };

const reason = whyNoKeyring();
const skipped = reason === undefined ? "" : ` (skipped: ${reason})`;

(reason === undefined ? describe : describe.skip)(`the keyring of a session${skipped}`, () => {
  let keyring: RealKeyring;
  let folder: string;
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "keyring-"));
    keyring = await RealKeyring.start(folder);
    await keyring.open();
  });
  afterAll(() => keyring.close());
  const store = (): SecretService => new SecretService(keyring.address);

  tokenStoreContract(() => Promise.resolve(store()));

  test("has a secret after its daemon was killed, and nothing of it in the clear", async () => {
    await store().put(ID, "the secret itself");
    await keyring.kill();
    await expect(store().get(ID)).rejects.toMatchObject(UNREACHABLE);
    await keyring.open();
    expect(await store().get(ID)).toBe("the secret itself");
    const files = readdirSync(join(folder, "data", "keyrings"));
    expect(files.length).toBeGreaterThan(0);
    for (const name of files)
      expect(readFileSync(join(folder, "data", "keyrings", name), "latin1")).not.toContain("the secret itself");
  });

  test("that is locked says so, is asked for no password, and is not taken for an empty one", async () => {
    await store().put(ID, "kept");
    await keyring.kill();
    await keyring.open({ isLocked: true });
    for (const ask of [
      () => store().check(),
      () => store().get(ID),
      () => store().put(ID, "x"),
      () => store().remove(ID),
    ])
      await expect(ask()).rejects.toMatchObject({
        ...UNREACHABLE,
        message: expect.stringMatching("locked") as unknown,
      });
    await keyring.kill();
    await keyring.open();
    expect(await store().get(ID)).toBe("kept");
  });

  test("that hangs is waited for no longer than its bound", async () => {
    const clock = new SimulatedClock();
    keyring.halt();
    const asked = new SecretService(keyring.address, clock).get(ID);
    const over = new AbortController();
    asked.catch(() => over.abort());
    while (!over.signal.aborted) {
      await new Promise((turn) => setImmediate(turn));
      await clock.advance(100);
    }
    await expect(asked).rejects.toMatchObject(UNREACHABLE);
    await keyring.kill();
    await keyring.open();
  });

  test("where no keyring is, or no bus, is told apart from one that has nothing", async () => {
    await keyring.kill();
    await expect(store().get(ID)).rejects.toMatchObject(UNREACHABLE);
    const nowhere = new SecretService(`unix:path=${join(folder, "none")}`);
    await expect(nowhere.check()).rejects.toMatchObject(UNREACHABLE);
    await keyring.open();
  });
});
