// Secrets of a local server: where they lie, and who may say them. A real disk.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalSecrets } from "../../../src/host/local/local-secrets.ts";
import { type TempSecrets, tempSecrets } from "./temp-secrets.ts";

const PLACE = { address: "127.0.0.1", port: 7473 };
const NAME = "127.0.0.1-7473.secret";

let temp: TempSecrets;

beforeEach(() => {
  temp = tempSecrets();
});

afterEach(() => temp.remove());

const path = (): string => join(temp.folder, "runnel", NAME);

describe("the secret of a place", () => {
  test("is made once, in a file and a folder for its user alone, and stays the same", () => {
    const secret = temp.secrets.keep(PLACE);
    expect(secret).toMatch(/^[\w-]{43}$/);
    expect([statSync(path()).mode & 0o777, statSync(join(temp.folder, "runnel")).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(temp.secrets.keep(PLACE)).toBe(secret);
    expect(temp.secrets.find(PLACE)).toEqual([secret]);
    expect(readdirSync(join(temp.folder, "runnel"))).toEqual([NAME]);
  });

  test("comes back as it was when it was swept away", () => {
    const secret = temp.secrets.keep(PLACE);
    rmSync(path());
    expect(temp.secrets.keep(PLACE, secret)).toBe(secret);
    expect(temp.secrets.find(PLACE)).toEqual([secret]);
  });

  test("is another one at another port or address, and the same however the kernel writes the address", () => {
    const { secrets } = temp;
    const all = [PLACE, { ...PLACE, port: 7474 }, { ...PLACE, address: "::1" }].map((place) => secrets.keep(place));
    expect(new Set(all).size).toBe(3);
    expect(secrets.find({ ...PLACE, address: "::ffff:127.0.0.1" })).toEqual([all[0]]);
    expect(secrets.find({ ...PLACE, port: 7475 })).toEqual([]);
  });

  test.each<[string, () => void]>([
    ["that others can read", () => chmodSync(path(), 0o640)],
    ["of another user", () => chownSync(path(), 65_534, 65_534)],
    ["that is no secret", () => writeFileSync(path(), "short\n")],
    [
      "that lies elsewhere",
      () => {
        const elsewhere = join(temp.folder, "elsewhere");
        writeFileSync(elsewhere, `${"a".repeat(43)}\n`, { mode: 0o600 });
        rmSync(path());
        symlinkSync(elsewhere, path());
      },
    ],
  ])("is not taken from a file %s", (_which, change) => {
    temp.secrets.keep(PLACE);
    change();
    const inFolder = LocalSecrets.ofUserOr(path());
    expect(inFolder.find(PLACE)).toEqual([]);
  });

  test("lies in no folder that the environment names and another user owns", () => {
    chownSync(temp.folder, 65_534, 65_534);
    expect(temp.secrets.find(PLACE)).toEqual([]);
    const { port } = PLACE;
    // A port that nobody has.
    const place = { address: "127.0.0.1", port: -port };
    temp.secrets.keep(place);
    expect(readdirSync(temp.folder)).not.toContain("runnel");
    const user = process.getuid?.();
    for (const folder of [`/run/user/${user}/runnel`, join(tmpdir(), `runnel-${user}`)]) {
      rmSync(join(folder, `127.0.0.1-${-port}.secret`), { force: true });
      if (existsSync(folder) && readdirSync(folder).length === 0) rmdirSync(folder);
    }
  });
});

describe("a file that a person named", () => {
  test("is made for the server, and read for the client, whatever the place", () => {
    const named = LocalSecrets.ofUserOr(join(temp.folder, "new"));
    const secret = named.keep(PLACE);
    expect(readFileSync(join(temp.folder, "new"), "latin1")).toBe(`${secret}\n`);
    expect(named.find({ address: "::1", port: 1 })).toEqual([secret]);
  });

  test("that cannot be used is named to who starts the server", () => {
    const file = join(temp.folder, "open");
    writeFileSync(file, `${"a".repeat(43)}\n`, { mode: 0o644 });
    expect(() => LocalSecrets.ofUserOr(file).keep(PLACE)).toThrow(
      `${file} cannot hold the server's secret for this user alone. Name a file with --secret.`,
    );
    expect(readFileSync(file, "latin1")).toBe(`${"a".repeat(43)}\n`);
  });
});
