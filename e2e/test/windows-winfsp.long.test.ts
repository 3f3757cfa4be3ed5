// Makes set-ups that bring another's installer beside a small product, and runs them under Wine: it is run where WinFsp
// is not, as it is, and nowhere else; where it fails the product is there all the same, and the set-up says so.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian } from "../../scripts/tools.mjs";
import { checkedWinFsp, packSetup } from "../../installers/src/windows.ts";
import { Sandbox, mustRun } from "../src/harness/index.ts";
import { Machine, PROGRAMS, onWindows } from "../src/installers/wine-machine.ts";

const RELEASE = { version: "7.0.0", epochSeconds: 1_700_000_000, level: 0 };
const ALL_MS = 20 * 60_000;
const KEY = "HKLM\\Software\\WOW6432Node\\WinFsp";

const why =
  process.platform === "linux" && process.arch === "x64" ? "" : " (skipped: packages are made on Linux on x64)";
const testHere = why === "" ? test : test.skip;

let sandbox: Sandbox;

/** An installer for all users that leaves WinFsp's mark in the registry; `condition`: when it goes on. */
async function standIn(name: string, condition: string): Promise<string> {
  writeFileSync(sandbox.path("mark.txt"), "mark\n");
  const source = sandbox.path(`${name}.wxs`);
  writeFileSync(
    source,
    `<?xml version="1.0"?>
<Wix xmlns="http://schemas.microsoft.com/wix/2006/wi">
  <Product Id="*" Name="Stand-in" UpgradeCode="11111111-2222-4333-8444-555555555555" Version="1.0.0" Language="1033"
      Manufacturer="Nobody">
    <Package Compressed="yes" InstallScope="perMachine" />
    <Media Id="1" Cabinet="a.cab" EmbedCab="yes" />
    <Condition Message="It does not go on.">${condition}</Condition>
    <Directory Id="TARGETDIR" Name="SourceDir"><Directory Id="ProgramFilesFolder"><Directory Id="D" Name="StandIn">
      <Component Id="C" Guid="11111111-2222-4333-8444-555555555556">
        <File Id="F" Source="mark.txt" KeyPath="yes" />
        <RegistryValue Root="HKLM" Key="Software\\WinFsp" Name="InstallDir" Type="string" Value="[D]" />
      </Component>
    </Directory></Directory></Directory>
    <Feature Id="All" Level="1"><ComponentRef Id="C" /></Feature>
  </Product>
</Wix>`.replaceAll("\\\\", "\\"),
  );
  const path = sandbox.path(`${name}.msi`);
  await mustRun("wixl", ["-o", path, source], { cwd: sandbox.folder });
  return path;
}

function setup(name: string, winfsp?: string): string {
  const folder = sandbox.makeFolder(`${name}-product`);
  writeFileSync(join(folder, "runnel.cmd"), "@exit /b 0\r\n");
  const out = sandbox.makeFolder(`${name}-out`);
  return packSetup(folder, RELEASE, sandbox.makeFolder(`${name}-work`), out, winfsp);
}

const withMachine = (name: string, act: (machine: Machine) => Promise<void>): Promise<void> =>
  Machine.with(sandbox, name, act);

beforeAll(() => {
  if (why !== "") return;
  sandbox = new Sandbox(ALL_MS);
  ensureDebian("makensis", ["nsis"]);
  ensureDebian("wixl", ["wixl", "msitools"]);
}, ALL_MS);

afterAll(() => sandbox?.cleanup(), 120_000);

describe("WinFsp's own installer", () => {
  testHere(`goes into a set-up when it is the one that is meant, and no other${why}`, async () => {
    const msi = await standIn("meant", "1");
    const sha256 = createHash("sha256").update(readFileSync(msi)).digest("hex");
    expect(checkedWinFsp(msi, sha256)).toBe(msi);
    expect(() => checkedWinFsp(msi, "0".repeat(64))).toThrow(/is not the installer of WinFsp that is meant/);
    writeFileSync(msi, "another", { flag: "a" });
    expect(() => checkedWinFsp(msi, sha256)).toThrow(/is not the installer of WinFsp that is meant/);
  });

  testHere(
    `is run where WinFsp is not, and stays when Runnel goes${why}`,
    () =>
      withMachine("missing", async (machine) => {
        const path = setup("good", await standIn("good", "1"));
        expect(await machine.registry(KEY)).toBe("");
        expect(await machine.run(onWindows(path), "/S")).toMatchObject({ code: 0 });
        expect(await machine.registry(KEY)).toMatch(/InstallDir +REG_SZ +C:.*StandIn/);
        expect(machine.files(PROGRAMS)).toEqual(["runnel.cmd", "uninstall.exe"]);
        const uninstaller = `C:\\users\\root\\${PROGRAMS.replaceAll("/", "\\")}`;
        expect(await machine.run(`${uninstaller}\\uninstall.exe`, "/S", `_?=${uninstaller}`)).toMatchObject({
          code: 0,
        });
        expect(machine.files(PROGRAMS)).toEqual(["uninstall.exe"]);
        expect(await machine.registry(KEY)).toContain("InstallDir");
      }),
    ALL_MS,
  );

  testHere(
    `is not run where WinFsp is, nor by a set-up that does not bring it${why}`,
    () =>
      withMachine("there", async (machine) => {
        const marked = machine.path("../../Program Files (x86)/StandIn/mark.txt");
        expect(await machine.run(onWindows(setup("without")), "/S")).toMatchObject({ code: 0 });
        expect(await machine.registry(KEY)).toBe("");
        await machine.run("reg", "add", KEY, "/v", "InstallDir", "/d", "C:\\WinFsp", "/f");
        expect(await machine.run(onWindows(setup("again", await standIn("again", "1"))), "/S")).toMatchObject({
          code: 0,
        });
        expect(existsSync(marked)).toBe(false);
        expect(await machine.registry(KEY)).toMatch(/InstallDir +REG_SZ +C:.WinFsp\s/);
      }),
    ALL_MS,
  );

  testHere(
    `may fail: Runnel is there, and the set-up ends with 3${why}`,
    () =>
      withMachine("failing", async (machine) => {
        const path = setup("failing", await standIn("failing", "0"));
        expect(await machine.run(onWindows(path), "/S")).toMatchObject({ code: 3 });
        expect(await machine.registry(KEY)).toBe("");
        expect(machine.files(PROGRAMS)).toEqual(["runnel.cmd", "uninstall.exe"]);
      }),
    ALL_MS,
  );
});
