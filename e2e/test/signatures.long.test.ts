// Signs small packages with keys that are made here, as the packer signs its own, and lets the tools of systems judge:
// apt, rpmkeys, osslsigncode and gpg take what is signed, and refuse what was changed or signed by somebody else.
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian } from "../../scripts/tools.mjs";
import { isDebian } from "../../scripts/system-packages.mjs";
import { writeRepository } from "../../installers/src/repository.ts";
import { type Signers, signBeside, signPackage, signersOf } from "../../installers/src/signing.ts";
import { Sandbox, mustRun, run } from "../src/harness/index.ts";

const RELEASE = { version: "7.0.0", epochSeconds: 1_700_000_000, level: 0 };
const ALL_MS = 10 * 60_000;
const DAY_MS = 86_400_000;
const ADDRESS = "releases@example.org";
const isHere = process.platform === "linux" && process.getuid?.() === 0 && isDebian();
const testHere = isHere ? test : test.skip;
const why = isHere ? "" : " (skipped: needs root on Debian, for its tools)";

let sandbox: Sandbox;
let signers: Signers;
/** Another one's key of gpg, and certificate. */
let others: Signers;
/** Names the place of gpg's keys. */
const before = { ...process.env };

async function certificate(name: string): Promise<NodeJS.ProcessEnv> {
  const path = (end: string): string => sandbox.path(`${name}.${end}`);
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30000", "-subj", `/CN=${name}`];
  const usage = ["-addext", "extendedKeyUsage=codeSigning", "-keyout", path("key"), "-out", path("pem")];
  await mustRun("openssl", [...made, ...usage]);
  writeFileSync(path("password"), "a word");
  const pack = ["pkcs12", "-export", "-inkey", path("key"), "-in", path("pem"), "-out", path("p12")];
  await mustRun("openssl", [...pack, "-passout", `file:${path("password")}`]);
  return { RUNNEL_WINDOWS_CERT: path("p12"), RUNNEL_WINDOWS_PASSWORD: path("password") };
}

async function gpgKey(address: string): Promise<void> {
  const args = [
    "--batch",
    "--passphrase",
    "",
    "--quick-generate-key",
    `Runnel <${address}>`,
    "ed25519",
    "sign",
    "never",
  ];
  await mustRun("gpg", args);
}

beforeAll(async () => {
  if (!isHere) return;
  sandbox = new Sandbox(ALL_MS);
  ensureDebian("osslsigncode", ["osslsigncode"]);
  ensureDebian("makensis", ["nsis"]);
  ensureDebian("rpmbuild", ["rpm"]);
  ensureDebian("wixl", ["wixl", "msitools"]);
  ensureDebian("dpkg-scanpackages", ["dpkg-dev"]);
  process.env["GNUPGHOME"] = sandbox.path("gpg");
  mkdirSync(sandbox.path("gpg"), { mode: 0o700 });
  const other = "others@example.org";
  for (const address of [ADDRESS, other]) await gpgKey(address);
  signers = signersOf({ ...(await certificate("runnel")), RUNNEL_GPG_KEY: ADDRESS });
  others = signersOf({ ...(await certificate("others")), RUNNEL_GPG_KEY: other });
}, ALL_MS);

afterAll(async () => {
  if (!isHere) return;
  await run("gpgconf", ["--kill", "gpg-agent"]);
  process.env["GNUPGHOME"] = before["GNUPGHOME"];
  if (before["GNUPGHOME"] === undefined) delete process.env["GNUPGHOME"];
  await sandbox.cleanup();
}, 60_000);

/** Changes a byte, in the middle unless another place is named. */
function spoil(path: string, fromEnd?: number): void {
  const bytes = readFileSync(path);
  const at = fromEnd === undefined ? bytes.length >> 1 : bytes.length - fromEnd;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

describe("who signs", () => {
  test("is nobody unless somebody is named, and a password or a time alone name nobody", () => {
    expect(signersOf({ RUNNEL_GPG_KEY: "", RUNNEL_WINDOWS_CERT: "" })).toEqual({ gpg: undefined, windows: undefined });
    for (const name of ["RUNNEL_WINDOWS_PASSWORD", "RUNNEL_TIMESTAMP_URL"])
      expect(() => signersOf({ [name]: "something" })).toThrow(/name that, too/);
  });
});

describe("what is for Windows", () => {
  async function makeSetup(path: string): Promise<void> {
    const script = sandbox.path("small.nsi");
    const lines = ["Unicode true", "Target amd64-unicode", `OutFile "${path}"`, "Section", "SectionEnd"];
    writeFileSync(script, lines.join("\n"));
    await mustRun("makensis", ["-V1", script]);
  }

  async function makeMsi(path: string): Promise<void> {
    const file = sandbox.path("small.txt");
    writeFileSync(file, "small\n");
    const source = sandbox.path("small.wxs");
    writeFileSync(
      source,
      `<?xml version="1.0"?><Wix xmlns="http://schemas.microsoft.com/wix/2006/wi"><Product Id="*" Name="Small"
       UpgradeCode="11111111-2222-4333-8444-555555555555" Version="1.0.0" Language="1033" Manufacturer="Nobody">
       <Package Compressed="yes" /><Media Id="1" Cabinet="a.cab" EmbedCab="yes" />
       <Directory Id="TARGETDIR" Name="SourceDir"><Component Id="C" Guid="11111111-2222-4333-8444-555555555556">
       <File Id="F" Source="${basename(file)}" KeyPath="yes" /></Component></Directory>
       <Feature Id="All" Level="1"><ComponentRef Id="C" /></Feature></Product></Wix>`,
    );
    await mustRun("wixl", ["-o", path, source], { cwd: sandbox.folder });
  }

  const verify = async (path: string, name: string): Promise<boolean> =>
    (await run("osslsigncode", ["verify", "-CAfile", sandbox.path(`${name}.pem`), "-in", path])).code === 0;

  testHere.each([
    ["setup.exe", makeSetup],
    ["package.msi", makeMsi],
  ])(
    `is signed as a %s, the same each time, by whom it names alone, and not when it was changed${why}`,
    async (name, make) => {
      const path = sandbox.path(name);
      await make(path);
      const unsigned = readFileSync(path);
      signPackage(path, { gpg: undefined, windows: undefined }, RELEASE);
      expect(readFileSync(path).equals(unsigned)).toBe(true);
      expect(await verify(path, "runnel")).toBe(false);

      signPackage(path, signers, RELEASE);
      expect(await verify(path, "runnel")).toBe(true);
      expect(await verify(path, "others")).toBe(false);
      const first = readFileSync(path);
      writeFileSync(path, unsigned);
      signPackage(path, signers, RELEASE);
      expect(readFileSync(path).equals(first)).toBe(true);

      spoil(path);
      expect(await verify(path, "runnel")).toBe(false);
    },
    ALL_MS,
  );

  testHere(
    `stays as it was where the password is wrong${why}`,
    async () => {
      const path = sandbox.path("wrong.exe");
      await makeSetup(path);
      const unsigned = readFileSync(path);
      const passwordFile = sandbox.path("wrong-password");
      writeFileSync(passwordFile, "another word");
      const { windows } = signers;
      if (windows === undefined) throw new Error("Nobody signs.");
      const wrong = { ...signers, windows: { ...windows, passwordFile } };
      expect(() => signPackage(path, wrong, RELEASE)).toThrow(/osslsigncode ended with/);
      expect(readFileSync(path).equals(unsigned)).toBe(true);
    },
    ALL_MS,
  );
});

describe("an rpm", () => {
  testHere(
    `is taken by who has the key, and not when it was changed or somebody else signed it${why}`,
    async () => {
      const spec = sandbox.path("small.spec");
      const lines = ["Name: small", "Version: 1", "Release: 1", "Summary: small", "License: MIT", "BuildArch: noarch"];
      writeFileSync(spec, [...lines, "%description", "Small.", "%files", ""].join("\n"));
      const top = sandbox.makeFolder("rpm");
      await mustRun("rpmbuild", ["-bb", "--quiet", "--define", `_topdir ${top}`, spec]);
      const made = join(top, "RPMS/noarch/small-1-1.noarch.rpm");
      const key = sandbox.path("rpm.asc");
      writeFileSync(key, (await mustRun("gpg", ["--armor", "--export", ADDRESS])).stdout);
      const base = ["--dbpath", sandbox.makeFolder("rpmdb")];
      await mustRun("rpmkeys", [...base, "--import", key]);
      const check = async (path: string): Promise<string> =>
        (await run("rpmkeys", [...base, "--checksig", "--define", "_pkgverify_level all", path])).stdout;
      const [mine, theirs, none] = ["mine", "theirs", "none"].map((name) => sandbox.path(`${name}.rpm`)) as [
        string,
        string,
        string,
      ];
      for (const path of [mine, theirs, none]) copyFileSync(made, path);
      signPackage(mine, signers, RELEASE);
      signPackage(theirs, others, RELEASE);
      expect(await check(mine)).toContain("digests signatures OK");
      expect(await check(theirs)).toContain("NOT OK");
      expect(await check(none)).not.toContain("signatures");
      // Nothing is in the middle of a small one.
      spoil(mine, 60);
      expect(await check(mine)).not.toContain("OK");
    },
    ALL_MS,
  );
});

describe("the debs of a folder", () => {
  let asked = 0;

  /** Asks apt, in folders of its own, for a package of the repository, as one who has the key. */
  async function ask(out: string, key: string): Promise<{ code: number | null; said: string }> {
    const root = sandbox.makeFolder(`apt-${basename(out)}-${asked++}`);
    for (const name of ["state/lists/partial", "cache/archives/partial", "etc"])
      mkdirSync(join(root, name), { recursive: true });
    const list = join(root, "etc/sources.list");
    writeFileSync(list, `deb [signed-by=${key}] copy:${out} ./\n`);
    writeFileSync(join(root, "state/status"), "");
    const options = {
      "Dir::State": join(root, "state"),
      "Dir::State::status": join(root, "state/status"),
      "Dir::Cache": join(root, "cache"),
      "Dir::Etc::sourcelist": list,
      "Dir::Etc::sourceparts": "-",
      "APT::Sandbox::User": "root",
      "APT::Update::Error-Mode": "any",
      "Acquire::Languages": "none",
      // They are so unless a machine is told otherwise.
      "Acquire::Check-Valid-Until": "true",
      "Acquire::Check-Date": "true",
    };
    const words = Object.entries(options).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    const update = await run("apt-get", [...words, "update"], { cwd: root });
    if (update.code !== 0) return { code: update.code, said: `${update.stdout}${update.stderr}` };
    const got = await run("apt-get", [...words, "install", "--yes", "--download-only", "small"], { cwd: root });
    return { code: got.code, said: `${got.stdout}${got.stderr}` };
  }

  async function makeDebs(name: string): Promise<{ out: string; deb: string }> {
    const out = sandbox.makeFolder(name);
    const tree = sandbox.makeFolder(`${name}-tree`);
    mkdirSync(join(tree, "DEBIAN"));
    const control =
      "Package: small\nVersion: 1\nArchitecture: all\nMaintainer: Nobody <n@example.org>\nDescription: x\n";
    writeFileSync(join(tree, "DEBIAN/control"), control);
    const deb = join(out, "small_1_all.deb");
    await mustRun("dpkg-deb", ["--root-owner-group", "--build", tree, deb]);
    return { out, deb };
  }

  testHere(
    `are taken by apt when their index is signed by the key that it was given${why}`,
    async () => {
      const { out } = await makeDebs("debs");
      writeRepository(out, signers.gpg, Date.now());
      expect(await ask(out, join(out, "runnel-archive.asc"))).toMatchObject({ code: 0 });
      const keys = sandbox.path("others.asc");
      writeFileSync(keys, (await mustRun("gpg", ["--armor", "--export", others.gpg ?? ""])).stdout);
      const refused = await ask(out, keys);
      expect(refused).toMatchObject({ code: 100, said: expect.stringMatching(/NO_PUBKEY|not available/) });
    },
    ALL_MS,
  );

  testHere.each<[string, (out: string, deb: string) => void]>([
    ["of which one was changed", (_out, deb) => spoil(deb)],
    ["whose index was changed", (out) => spoil(join(out, "InRelease"))],
    ["of whose index nobody has signed what it names", (out) => spoil(join(out, "Packages"))],
    ["whose index is older than ninety days", (out) => writeRepository(out, ADDRESS, Date.now() - 91 * DAY_MS)],
    ["that nobody has signed", (out) => writeRepository(out, undefined, Date.now())],
  ])(
    `%s are refused by apt${why}`,
    async (name, change) => {
      const { out, deb } = await makeDebs(name.replaceAll(" ", "-"));
      writeRepository(out, signers.gpg, Date.now());
      const key = sandbox.path("archive.asc");
      copyFileSync(join(out, "runnel-archive.asc"), key);
      change(out, deb);
      expect(await ask(out, key)).toMatchObject({ code: 100 });
    },
    ALL_MS,
  );
});

describe("the list of digests", () => {
  testHere(
    `has a signature beside it, which goes when nobody signs${why}`,
    async () => {
      const sums = sandbox.path("SHA256SUMS");
      writeFileSync(sums, "0  small\n");
      signBeside(sums, signers.gpg);
      expect((await run("gpg", ["--verify", `${sums}.asc`, sums])).code).toBe(0);
      writeFileSync(sums, "1  small\n");
      expect((await run("gpg", ["--verify", `${sums}.asc`, sums])).code).toBe(1);
      signBeside(sums, undefined);
      expect(existsSync(`${sums}.asc`)).toBe(false);
    },
    ALL_MS,
  );
});
