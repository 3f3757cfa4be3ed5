// Makes set-ups and packages of msiexec of a small product, and runs them under Wine: what Windows starts at log-in
// goes with the copy that it starts, and with no other, and nothing is changed while an agent cannot be ended. Of the
// desktop app's set-up only what Runnel adds to electron-builder's is made.
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { ensureDebian } from "../../scripts/tools.mjs";
import { AT_LOGIN, packMsi, packSetup } from "../../installers/src/windows.ts";
import { Sandbox, run } from "../src/harness/index.ts";
import { partOfBuilder } from "../src/installers/electron-builder.ts";
import { INSTALLED, Machine, PROGRAMS, type Ran, onWindows } from "../src/installers/wine-machine.ts";

const OLD = "7.0.0";
const NEW = "7.0.1";
const ALL_MS = 20 * 60_000;
const KEY = `HKCU\\${AT_LOGIN.RUN}`;
/** Exit code of msiexec whose package has changed nothing: Wine's 1627, of which Linux is handed eight bits. */
const FUNCTION_FAILED = 1627 % 256;
const APP_SCRIPT = fileURLToPath(new URL("../../installers/windows/app.nsh", import.meta.url));

const why =
  process.platform === "linux" && process.arch === "x64" ? "" : " (skipped: packages are made on Linux on x64)";
const testHere = why === "" ? test : test.skip;

interface Kind {
  pack: typeof packMsi;
  install(machine: Machine, path: string, ...words: string[]): Promise<Ran>;
  remove(machine: Machine, path: string): Promise<void>;
  /** Exit code of one that changes nothing. */
  refusal: number;
}

const msiexec = async (machine: Machine, what: string, path: string, ...words: string[]): Promise<Ran> =>
  machine.run("msiexec", what, onWindows(path), "/qn", ...words);

const KINDS: Record<"setup" | "msi", Kind> = {
  setup: {
    pack: packSetup,
    install: (machine, path, ...words) => machine.run(onWindows(path), "/S", ...words),
    remove: (machine) => machine.uninstall(),
    refusal: 2,
  },
  msi: {
    pack: packMsi,
    install: (machine, path) => msiexec(machine, "/i", path),
    remove: async (machine, path) => {
      expect(await msiexec(machine, "/x", path)).toMatchObject({ code: 0 });
    },
    refusal: FUNCTION_FAILED,
  },
};

let sandbox: Sandbox;
let paths: Record<string, Record<"setup" | "msi", string>>;

beforeAll(() => {
  if (why !== "") return;
  sandbox = new Sandbox(ALL_MS);
  ensureDebian("makensis", ["nsis"]);
  ensureDebian("wixl", ["wixl", "msitools"]);
  paths = Object.fromEntries(
    [OLD, NEW].map((version) => {
      const folder = sandbox.makeFolder(`product-${version}`);
      writeFileSync(join(folder, "runnel.cmd"), "@exit /b 0\r\n");
      writeFileSync(join(folder, "version.txt"), version);
      const release = { version, epochSeconds: 1_700_000_000, level: 0 };
      const [work, out] = [sandbox.makeFolder(`work-${version}`), sandbox.makeFolder(`out-${version}`)];
      const made = (kind: "setup" | "msi"): string => KINDS[kind].pack(folder, release, work, out);
      return [version, { setup: made("setup"), msi: made("msi") }];
    }),
  );
}, ALL_MS);

afterAll(() => sandbox?.cleanup(), 120_000);

const pathOf = (version: string, kind: "setup" | "msi"): string => paths[version]?.[kind] ?? "";

/** Has Windows start the copy of Runnel in a folder, as that does (run-value.ts). */
async function startAtLogin(machine: Machine, folder: string): Promise<string> {
  const words = [`${folder}\\node.exe`, `${folder}\\app\\cli\\main.js`, "reconnect", "--home", "C:\\home"];
  const text = words.map((word) => `"${word}"`).join(" ");
  expect(await machine.run("reg", "add", KEY, "/v", AT_LOGIN.STARTS, "/d", text, "/f")).toMatchObject({ code: 0 });
  return folder;
}

/** Folder of the copy that Windows starts; "" for none. */
async function startedFolder(machine: Machine): Promise<string> {
  return new RegExp(`${AT_LOGIN.STARTS} +REG_SZ +"(.*?)\\\\node.exe"`).exec(await machine.registry(KEY))?.[1] ?? "";
}

describe.each(["setup", "msi"] as const)("what Windows starts at log-in, by the %s", (kind) => {
  const { install, remove, refusal } = KINDS[kind];

  testHere(
    `stays with a newer version, and goes with it${why}`,
    () =>
      Machine.with(sandbox, `own-${kind}`, async (machine) => {
        expect(await install(machine, pathOf(OLD, kind))).toMatchObject({ code: 0 });
        await startAtLogin(machine, INSTALLED);
        // Windows tells a package in these words that a newer one takes its place; Wine removes it without a word.
        const comes = "UPGRADINGPRODUCTCODE={11111111-2222-4333-8444-555555555555}";
        if (kind === "msi") expect(await msiexec(machine, "/x", pathOf(OLD, kind), comes)).toMatchObject({ code: 0 });
        expect(await install(machine, pathOf(NEW, kind))).toMatchObject({ code: 0 });
        expect(await startedFolder(machine)).toBe(INSTALLED);
        await remove(machine, pathOf(NEW, kind));
        expect(machine.files(PROGRAMS)).toEqual([]);
        expect(await machine.registry(KEY)).not.toContain(AT_LOGIN.STARTS);
      }),
    ALL_MS,
  );

  testHere.each([`C:\\tools\\Runnel`, `${INSTALLED}-app`])(
    `stays when it is the copy in %s${why}`,
    (folder) =>
      Machine.with(sandbox, `other-${kind}-${folder.length}`, async (machine) => {
        expect(await install(machine, pathOf(NEW, kind))).toMatchObject({ code: 0 });
        await startAtLogin(machine, folder);
        await remove(machine, pathOf(NEW, kind));
        expect(await startedFolder(machine)).toBe(folder);
      }),
    ALL_MS,
  );

  testHere(
    `stays, as all else, while the agent cannot be ended${why}`,
    () =>
      Machine.with(sandbox, `used-${kind}`, async (machine) => {
        expect(await install(machine, pathOf(OLD, kind))).toMatchObject({ code: 0 });
        await startAtLogin(machine, INSTALLED);
        // Ends as the command does while programs use a drive.
        writeFileSync(machine.path(join(PROGRAMS, "runnel.cmd")), "@exit /b 1\r\n");
        const before = machine.files(PROGRAMS);
        expect(await install(machine, pathOf(NEW, kind))).toMatchObject({ code: refusal });
        if (kind === "msi") expect(await msiexec(machine, "/x", pathOf(OLD, kind))).toMatchObject({ code: refusal });
        else expect(await machine.uninstallInPlace()).toMatchObject({ code: refusal });
        expect(machine.files(PROGRAMS)).toEqual(before);
        expect(machine.read(join(PROGRAMS, "version.txt"))).toBe(OLD);
        expect(await startedFolder(machine)).toBe(INSTALLED);
        writeFileSync(machine.path(join(PROGRAMS, "runnel.cmd")), "@exit /b 0\r\n");
        await remove(machine, pathOf(OLD, kind));
        expect(await startedFolder(machine)).toBe("");
      }),
    ALL_MS,
  );
});

describe("the set-up for another folder", () => {
  testHere(
    `takes away what started the older version, which is gone${why}`,
    () =>
      Machine.with(sandbox, "moved", async (machine) => {
        expect(await machine.run(onWindows(pathOf(OLD, "setup")), "/S")).toMatchObject({ code: 0 });
        await startAtLogin(machine, INSTALLED);
        expect(await machine.run(onWindows(pathOf(NEW, "setup")), "/S", "/D=C:\\elsewhere")).toMatchObject({ code: 0 });
        expect(machine.files(PROGRAMS)).toEqual([]);
        expect(await startedFolder(machine)).toBe("");
      }),
    ALL_MS,
  );
});

/**
 * A set-up of nothing but an uninstaller, with electron-builder's own scripts as far as they are asked for Runnel's.
 * @returns what makensis said
 */
async function packApp(templates: string, script: string, path: string): Promise<string> {
  const lines = [
    "Unicode true",
    // electron-builder's is for 32 bits, which Wine lacks here.
    "Target amd64-unicode",
    "RequestExecutionLevel user",
    "!include LogicLib.nsh",
    "!include FileFunc.nsh",
    `!addincludedir "${templates}/include"`,
    "!include StdUtils.nsh",
    '!define APP_EXECUTABLE_FILENAME "Runnel.exe"',
    '!define PRODUCT_NAME "Runnel"',
    // electron-builder finds it so by a plug-in of its own.
    "!macro _isUpdated _a _b _t _f",
    "    ${GetParameters} $R9",
    "    ClearErrors",
    '    ${GetOptions} $R9 "--updated" $R8',
    "    IfErrors `${_f}` `${_t}`",
    "!macroend",
    '!define isUpdated `"" isUpdated ""`',
    ...["appRunning", "appClosing", "appCannotBeClosed"].map((name) => `LangString ${name} 1033 "x"`),
    `!include "${script}"`,
    "!include allowOnlyOneInstallerInstance.nsh",
    "Name x",
    `OutFile "${path}"`,
    `InstallDir "${INSTALLED}"`,
    "Section",
    '    SetOutPath "$INSTDIR"',
    '    WriteUninstaller "$INSTDIR\\uninstall.exe"',
    "    ${If} ${isUpdated}",
    "        !insertmacro CHECK_APP_RUNNING",
    "    ${EndIf}",
    "SectionEnd",
    'Section "Uninstall"',
    "    !insertmacro customUnInstall",
    '    Delete "$INSTDIR\\uninstall.exe"',
    '    SetOutPath "$TEMP"',
    '    RMDir "$INSTDIR"',
    "SectionEnd",
  ];
  const source = sandbox.path("app.nsi");
  writeFileSync(source, lines.join("\n"));
  const { stdout, stderr } = await run("makensis", ["-NOCD", "-V4", source]);
  return stdout + stderr;
}

describe("the set-up of the desktop app", () => {
  testHere(
    `compiles, and takes away what starts the app that is removed, where no newer one comes${why}`,
    async () => {
      const templates = await partOfBuilder(sandbox, "templates/nsis");
      const path = sandbox.path("app.exe");
      expect(await packApp(templates, APP_SCRIPT, path)).toContain("!insertmacro: customCheckAppRunning");
      await Machine.with(sandbox, "app", async (machine) => {
        const removed = async (...words: string[]): Promise<string> => {
          expect(await machine.run(onWindows(path), "/S")).toMatchObject({ code: 0 });
          const uninstall = [`${INSTALLED}\\uninstall.exe`, "/S", ...words, `_?=${INSTALLED}`];
          expect(await machine.run(...uninstall)).toMatchObject({ code: 0 });
          return startedFolder(machine);
        };
        const inApp = await startAtLogin(machine, `${INSTALLED}\\resources\\runnel`);
        expect(await removed("--updated")).toBe(inApp);
        expect(await removed()).toBe("");
        const other = await startAtLogin(machine, `${INSTALLED}-app`);
        expect(await removed()).toBe(other);
      });
      const wrong = sandbox.path("wrong.nsh");
      const text = readFileSync(APP_SCRIPT, "utf8").replace("nsExec::Exec", "nsExec::Execute");
      writeFileSync(wrong, text.replace("${__FILEDIR__}", dirname(APP_SCRIPT)));
      expect(await packApp(templates, wrong, path)).toMatch(/Error|Invalid/);
    },
    ALL_MS,
  );
});
