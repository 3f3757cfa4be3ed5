// Engines of the token store that run anywhere, under its contract. A real keyring is in keyring.test.ts.
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { RunnelError } from "@runnel/shared/base";
import { sessionBusAddress } from "../../../src/agent/secrets/host/linux/bus-address.ts";
import { Keychain } from "../../../src/agent/secrets/host/darwin/token-store.ts";
import { MemoryTokenStore } from "../../../src/agent/secrets/host/memory/token-store.ts";
import { SealedFiles } from "../../../src/agent/secrets/host/sealed-files.ts";
import { windowsTokenStore } from "../../../src/agent/secrets/host/windows/token-store.ts";
import { tokenStoreContract } from "../token-store-contract.ts";

const ID = "0123456789abcdef0123456789abcdef";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "runnel-stores-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe("a token store in memory", () => {
  const store = new MemoryTokenStore();
  tokenStoreContract(() => Promise.resolve(store));
});

/** Turns each bit, and knows its own by a first byte. */
const fakeSeal = {
  seal: (bytes: Uint8Array) => Promise.resolve(Uint8Array.of(7, ...bytes.map((byte) => byte ^ 0xff))),
  open: ([mark, ...rest]: Uint8Array) =>
    mark === 7
      ? Promise.resolve(Uint8Array.from(rest, (byte) => byte ^ 0xff))
      : Promise.reject(new RunnelError("Invalid", "open a secret", "It was sealed elsewhere.")),
};
const sealedFiles = (): SealedFiles =>
  new SealedFiles({ name: "sealed", place: "a folder", folder: join(folder, "sealed"), seal: fakeSeal });

describe("a token store of sealed files", () => {
  tokenStoreContract(() => Promise.resolve(sealedFiles()));

  test("has nothing of a secret in the clear, and nothing at all once it is removed", async () => {
    await sealedFiles().put(ID, "in the clear");
    const [name = ""] = readdirSync(join(folder, "sealed"));
    expect(readFileSync(join(folder, "sealed", name), "latin1")).not.toContain("clear");
    writeFileSync(join(folder, "sealed", `${ID}.sealed.new`), "left by a crash");
    await sealedFiles().remove(ID);
    expect(readdirSync(join(folder, "sealed"))).toEqual([]);
  });

  test("does not take a file that it cannot open for none", async () => {
    await sealedFiles().put(ID, "secret");
    const path = join(folder, "sealed", `${ID}.sealed`);
    for (const bytes of ["", "torn"]) {
      writeFileSync(path, bytes);
      await expect(sealedFiles().get(ID)).rejects.toMatchObject({ kind: "Unreachable" });
    }
    await sealedFiles().remove(ID);
  });
});

(process.platform === "win32" ? describe : describe.skip)("the token store of Windows", () => {
  const store = (): SealedFiles => windowsTokenStore(join(folder, "dpapi"));
  tokenStoreContract(() => Promise.resolve(store()));

  test("opens no byte that was changed, and writes no secret in the clear", async () => {
    await store().put(ID, "the secret itself");
    const path = join(folder, "dpapi", `${ID}.sealed`);
    const sealed = readFileSync(path);
    expect(sealed.includes("the secret")).toBe(false);
    sealed[sealed.length - 1] = (sealed.at(-1) ?? 0) ^ 1;
    writeFileSync(path, sealed);
    await expect(store().get(ID)).rejects.toMatchObject({ kind: "Unreachable" });
  });
});

test("where a system seals nothing, its store says so", async () => {
  if (process.platform === "win32") return;
  await expect(windowsTokenStore(folder).check()).rejects.toMatchObject({ kind: "Unreachable" });
});

/** Answers as macOS' `security` does (security(1)), from a folder of secrets. */
const FAKE_SECURITY = `#!/usr/bin/env node
const { existsSync, readFileSync, rmSync, writeFileSync, appendFileSync } = require("node:fs");
const folder = __dirname;
appendFileSync(folder + "/arguments", process.argv.slice(2).join(" ") + "\\n");
if (existsSync(folder + "/locked")) process.exit(36);
const run = (words) => {
  const of = (flag) => words[words.indexOf(flag) + 1];
  const path = folder + "/" + of("-a") + ".secret";
  if (words[0] === "show-keychain-info") return 0;
  if (words[0] === "add-generic-password") return writeFileSync(path, of("-w")) ?? 0;
  if (!existsSync(path)) return 44;
  if (words[0] === "find-generic-password") process.stdout.write(readFileSync(path, "utf8") + "\\n");
  else rmSync(path);
  return 0;
};
const asked = process.argv[2] === "-i" ? readFileSync(0, "utf8").trim().split(" ") : process.argv.slice(2);
process.exit(run(asked));
`;

(process.platform === "win32" ? describe.skip : describe)("the keychain, through a program like macOS'", () => {
  let program: string;
  beforeAll(() => {
    program = join(folder, "security");
    writeFileSync(program, FAKE_SECURITY);
    chmodSync(program, 0o700);
  });
  tokenStoreContract(() => Promise.resolve(new Keychain(program)));

  test("shows no secret among the arguments of a program", async () => {
    const secret = "the secret itself";
    await new Keychain(program).put(ID, secret);
    const shown = readFileSync(join(folder, "arguments"), "utf8");
    expect([shown.includes(secret), shown.includes(Buffer.from(secret).toString("base64"))]).toEqual([false, false]);
  });

  test("that is locked, or is not there, is unreachable, and not empty", async () => {
    writeFileSync(join(folder, "locked"), "");
    for (const at of [program, join(folder, "none")]) {
      const keychain = new Keychain(at);
      const unreachable: unknown = expect.objectContaining({ kind: "Unreachable" });
      const asked = [keychain.check(), keychain.get(ID), keychain.put(ID, "x"), keychain.remove(ID)];
      for (const end of await Promise.allSettled(asked))
        expect(end).toEqual({ status: "rejected", reason: unreachable });
    }
  });
});

describe("the bus of a session", () => {
  test.each([
    [{}, undefined],
    [{ DBUS_SESSION_BUS_ADDRESS: "unix:path=/run/x%20y,guid=1" }, "unix:path=/run/x y"],
    [{ DBUS_SESSION_BUS_ADDRESS: "unix:guid=1,abstract=/run/dbus-x" }, "unix:socket=\0/run/dbus-x"],
    [{ DBUS_SESSION_BUS_ADDRESS: "unixexec:path=/bin/sh" }, undefined],
    [{ DBUS_SESSION_BUS_ADDRESS: "tcp:host=example.org,port=1;unix:path=/b" }, "unix:path=/b"],
    [{ DBUS_SESSION_BUS_ADDRESS: "autolaunch:" }, undefined],
    [{ XDG_RUNTIME_DIR: "/run/user/7" }, "unix:path=/run/user/7/bus"],
    [{ XDG_RUNTIME_DIR: "relative" }, undefined],
  ])("of %j is at %j: a socket of this machine, and nothing else", (environment, address) => {
    expect(sessionBusAddress(environment, () => true)).toBe(address);
  });
});
