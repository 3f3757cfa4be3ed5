// `runnel mail-relay`, used wrongly: one sentence each that names what is wrong, before a folder is made or anything
// listens.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, type Server, createServer } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { allowedList } from "../../src/mail/host/listen.ts";
import { isOwnPlace } from "../../src/mail/host/own-next-hop.ts";
import { type Refusal, refusedHere } from "./refused-here.ts";

const VOLUME = "wss://files.example.org:7473/mail";
const NEXT = "mail.example.net:25";
const at = (name: string): string => join(folder, name);
const homeBefore = process.env["RUNNEL_HOME"];
let folder: string;
let taken: Server;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "rnl-relay-"));
  process.env["RUNNEL_HOME"] = at("home");
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
  for (const name of ["one", "two"]) {
    const line = `req -x509 ${curve} -keyout ${name}.key -out ${name}.pem -subj /CN=${name}`;
    execFileSync("openssl", line.split(" "), { cwd: folder, stdio: "pipe" });
  }
  writeFileSync(at("text"), "no certificate\n");
  mkdirSync(at("folder"));
  taken = createServer().listen(0, "127.0.0.1");
  await new Promise((listening) => taken.once("listening", listening));
});

afterAll(() => {
  taken.close();
  rmSync(folder, { recursive: true });
  if (homeBefore === undefined) delete process.env["RUNNEL_HOME"];
  else process.env["RUNNEL_HOME"] = homeBefore;
});

/** Adds options to those of a relay that is fine, and reads what is said; the test's folder is shown as "~". */
async function refused(...options: string[]): Promise<Refusal> {
  const needed = ["--to", VOLUME, "--next", NEXT].flatMap((word, index, all) =>
    index % 2 === 0 && !options.includes(word) ? [word, all[index + 1] ?? ""] : [],
  );
  const refusal = await refusedHere(["mail-relay", ...needed, ...options]);
  expect(existsSync(at("home"))).toBe(false);
  return { ...refusal, sentence: refusal.sentence.replaceAll(folder, "~") };
}

const invalid = (sentence: string): Refusal => ({ code: 2, kind: "Invalid", sentence });

describe("a relay beyond loopback", () => {
  test.each(["0.0.0.0:10025", "[::]:10025", "192.0.2.1:10025", "mail.example.org:10025", "[::ffff:192.0.2.1]:25"])(
    "at %s is for nobody unless --allow says for whom",
    async (listen) => {
      expect(await refused("--listen", listen)).toEqual(
        invalid(`Anybody could send mails at ${listen}. Say who may: --allow 192.0.2.7`),
      );
    },
  );

  test.each([
    "",
    "mail.example.org",
    "300.1.1.1",
    "10.0.0",
    // Bits that are left out are none of them: that would be everybody.
    "10.0.0.0/",
    "10.0.0.0/-0",
    "10.0.0.0/0x8",
    "10.0.0.0/33",
    "::/129",
    "10.0.0.0/8/8",
    "fe80::1%eth0",
    "10.0.0.1,10.0.0.2",
    " 10.0.0.1",
  ])("is not for %j", async (allow) => {
    expect(await refused("--listen", "0.0.0.0:10025", "--allow", "10.0.0.1", allow)).toEqual(
      invalid(`"${allow}" is no address. Write ADDRESS or ADDRESS/BITS: 192.0.2.0/24.`),
    );
  });

  test("is for the addresses that are named, and no others", () => {
    const allowed = allowedList(["10.0.0.0/8", "192.0.2.7", "2001:db8::/32"]);
    const isIn = (address: string): boolean => allowed.check(address, address.includes(":") ? "ipv6" : "ipv4");
    expect(["10.255.0.1", "192.0.2.7", "::ffff:192.0.2.7", "2001:db8:1::1"].filter(isIn)).toHaveLength(4);
    expect(["11.0.0.1", "192.0.2.8", "127.0.0.1", "2001:db9::1", "::1"].filter(isIn)).toEqual([]);
  });
});

describe("a place", () => {
  const LISTEN = "is not a place to listen. Write HOST:PORT: 127.0.0.1:7473.";
  test.each(["", "10025", "127.0.0.1", "127.0.0.1:65536", "::1:25", "a b:25", "127.0.0.1:25 "])(
    "to listen is not %j",
    async (listen) => expect(await refused("--listen", listen)).toEqual(invalid(`"${listen}" ${LISTEN}`)),
  );

  test.each([
    "",
    "example.net",
    "example.net:",
    "example.net:0",
    "example.net:65536",
    "smtp://example.net:25",
    "a b:1",
  ])("where mails go on to is not %j", async (next) =>
    expect(await refused("--next", next)).toEqual(
      invalid(`"${next}" is no next hop. Write HOST:PORT: example.net:25.`),
    ),
  );

  test("that another program has, or that is not on this machine, is refused by name", async () => {
    const { port } = taken.address() as AddressInfo;
    expect(await refused("--listen", `127.0.0.1:${port}`)).toEqual({
      code: 1,
      kind: "Busy",
      sentence: `Port ${port} on 127.0.0.1 is in use by another program: choose another port, or stop that program.`,
    });
    for (const host of ["203.0.113.9", "nowhere.invalid"])
      expect(await refused("--allow", "10.0.0.1", "--listen", `${host}:10025`)).toEqual({
        code: 1,
        kind: "Unavailable",
        sentence: `${host} is no address of this machine. Choose one that it has, or 0.0.0.0 for all.`,
      });
  });

  test.each(["127.0.0.1:10025", "localhost:10025", "0.0.0.0:10025"])(
    "%s, where it listens itself, is no next hop",
    async (next) =>
      expect(await refused("--listen", "127.0.0.1:10025", "--next", next)).toEqual(
        invalid(`${next} is this relay: its mails would go round. Name the next mail server with --next.`),
      ),
  );

  const [own = "127.0.0.1"] = Object.values(networkInterfaces()).flatMap((all) =>
    (all ?? []).filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address),
  );
  test.each([
    ["127.0.0.2", "127.0.0.1", false],
    ["203.0.113.9", "0.0.0.0", false],
    ["nowhere.invalid", "0.0.0.0", false],
    ["127.0.0.2", "0.0.0.0", true],
    ["127.0.0.1", "::", true],
    ["::1", "::", true],
    ["0:0:0:0:0:0:0:1", "::1", true],
    ["::", "::1", true],
    [own, "0.0.0.0", true],
    [own, "::", true],
  ])("%s is the relay's own where it listens at %s: %j", async (next, listen, isOwn) => {
    expect(await isOwnPlace({ host: next, port: 25 }, { host: listen, port: 25 })).toBe(isOwn);
    expect(await isOwnPlace({ host: next, port: 26 }, { host: listen, port: 25 })).toBe(false);
  });
});

describe("a volume", () => {
  test.each(["", "docs", "https://example.org/mail", "wss://example.org", "wss://u:p@example.org/mail"])(
    "is not %j",
    async (to) =>
      expect(await refused("--to", to)).toEqual(
        invalid(
          `"${to}" is not the address of a volume. Write wss://HOST:PORT/VOLUME: wss://files.example.org:7473/docs.`,
        ),
      ),
  );

  test("and a next hop have to be named", async () => {
    const help = "Run runnel mail-relay --help to see how it is used.";
    expect(await refusedHere(["mail-relay", "--next", NEXT])).toEqual(
      invalid(`Option --to <volume> is missing. ${help}`),
    );
    expect(await refusedHere(["mail-relay", "--to", VOLUME])).toEqual(
      invalid(`Option --next <host:port> is missing. ${help}`),
    );
  });
});

describe("a certificate", () => {
  const PEM = "in PEM form.";
  test.each<[string, string, string, Refusal]>([
    [
      "that is not there",
      "none",
      "one.key",
      { code: 1, kind: "NotFound", sentence: `~/none does not exist. Name a file ${PEM}` },
    ],
    [
      "that is a folder",
      "folder",
      "one.key",
      { code: 1, kind: "IsFolder", sentence: `~/folder cannot be read by this user. Name a file ${PEM}` },
    ],
    ["that is text", "text", "one.key", invalid(`~/text holds no certificate ${PEM}`)],
    ["whose key is text", "one.pem", "text", invalid(`~/text holds no private key without a passphrase ${PEM}`)],
    [
      "whose key is another one's",
      "one.pem",
      "two.key",
      invalid("~/two.key is not the key of the first certificate in ~/one.pem. Name the two that go together."),
    ],
  ])("%s is refused", async (_which, cert, key, refusal) => {
    expect(await refused("--cert", at(cert), "--key", at(key))).toEqual(refusal);
  });

  test("goes with its key", async () => {
    for (const option of ["--cert", "--key"])
      expect(await refused(option, at("one.pem"))).toEqual(invalid("--cert and --key go together. Name both files."));
  });

  test("of an authority is one", async () => {
    writeFileSync(at("torn"), "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n");
    for (const name of ["text", "torn", "one.key"])
      expect(await refused("--next-ca", at(name))).toEqual(invalid(`~/${name} holds no certificate ${PEM}`));
    writeFileSync(at("second torn"), `${readFileSync(at("one.pem"), "utf8")}${readFileSync(at("torn"), "utf8")}`);
    expect(await refused("--next-ca", at("second torn"))).toMatchObject({ kind: "Invalid" });
    expect(await refused("--next-ca", at("none"))).toMatchObject({ code: 1, kind: "NotFound" });
  });

  test("that is one is taken, also one of several with words between them", async () => {
    const [one, two] = ["one.pem", "two.pem"].map((name) => readFileSync(at(name), "utf8"));
    writeFileSync(at("both"), `# ours\n${one}\n# theirs\n${two}`);
    // The last that is looked at is the next hop.
    const last = ["--listen", "127.0.0.1:10025", "--next", "127.0.0.1:10025"];
    for (const name of ["one.pem", "both"])
      expect((await refused("--next-ca", at(name), ...last)).sentence).toContain("is this relay");
    const pair = ["--cert", at("one.pem"), "--key", at("one.key")];
    expect((await refused(...pair, ...last)).sentence).toContain("is this relay");
  });
});

describe("a number", () => {
  const SIZE = "Write a number and K, M, G or T: 20G.";
  test.each([
    ["--size", "0", "A mail has up to 1073741824 bytes, not 0. Write a size from 1 to 1G."],
    ["--size", "2G", "A mail has up to 1073741824 bytes, not 2G. Write a size from 1 to 1G."],
    ["--size", "big", `"big" is not a size. ${SIZE}`],
    ["--smallest", "", `"" is not a size. ${SIZE}`],
    ["--smallest", "-1", `"-1" is not a size. ${SIZE}`],
    ["--for", "0d", '"0d" is no time. Write a number and m, h or d, at most 366d: 7d.'],
    ["--for", "367d", '"367d" is no time. Write a number and m, h or d, at most 366d: 7d.'],
  ])("of %s is not %j", async (option, value, sentence) => {
    expect(await refused(`${option}=${value}`)).toEqual(invalid(sentence));
  });
});
