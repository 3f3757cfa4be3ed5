// Makes the set-up and the package of msiexec for Windows, and lives with them under Wine, without a question:
// installs, moves contents to and from a server on Linux, puts a newer version over it while an agent runs, and takes
// it away again. Files and registry are looked at; data stay.
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { build } from "esbuild";
import { COMMON_JS, copySqlite } from "../../scripts/bundle-windows.mjs";
import { SERVER } from "../../scripts/use-installed.ts";
import { enterByLink } from "@runnel/shared/test/calls/bent-browser.ts";
import { AT_LOGIN } from "../../installers/src/windows.ts";
import { Sandbox, type ServerProcess, mustRun, run, waitFor } from "../src/harness/index.ts";
import { type Pack, pack } from "../src/installers/packs.ts";
import { INSTALLED, Machine, PROGRAMS, type Ran, onWindows } from "../src/installers/wine-machine.ts";

const OLD = "7.0.0";
const NEW = "7.0.1";
const ALL_MS = 30 * 60_000;
const STEP_MS = 300_000;
const MENU = "AppData/Roaming/Microsoft/Windows/Start Menu/Programs/Runnel";
const DATA = "AppData/Local/Runnel";
const TRY_INSTALLERS = fileURLToPath(new URL("../../scripts/try-installers.ts", import.meta.url));
const MOVED_BYTES = 3_000_000;
const UNINSTALL = "Software\\Microsoft\\Windows\\CurrentVersion\\Uninstall";

const why =
  process.platform === "linux" && process.arch === "x64" ? "" : " (skipped: packages are made on Linux on x64)";
const testHere = why === "" ? test : test.skip;

let sandbox: Sandbox;
let server: ServerProcess;
let served: string;
let packs: Record<"setup" | "msi", { old: Pack; new: Pack; again: Pack }>;
/** Paths of what is installed, as the bundle has them. */
const PARTS = [
  "LICENSE.txt",
  "app/agent/main.js",
  "app/cli/main.js",
  "node.exe",
  "runnel.cmd",
  "ui/dist/index.html",
  "update-feed.json",
];

/** Makes who signs, and tells the packer. */
async function signers(): Promise<NodeJS.ProcessEnv> {
  const [key, certificate, p12] = ["update.pem", "certificate.pem", "certificate.p12"].map((name) =>
    sandbox.path(name),
  ) as [string, string, string];
  const { privateKey } = generateKeyPairSync("ed25519");
  writeFileSync(key, privateKey.export({ format: "pem", type: "pkcs8" }));
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30000", "-subj", "/CN=Runnel of a test"];
  const usage = ["-addext", "extendedKeyUsage=codeSigning", "-keyout", `${certificate}.key`, "-out", certificate];
  await mustRun("openssl", [...made, ...usage]);
  const pair = ["pkcs12", "-export", "-inkey", `${certificate}.key`, "-in", certificate, "-out", p12];
  await mustRun("openssl", [...pair, "-passout", "pass:"]);
  const updates = { RUNNEL_UPDATE_KEY: key, RUNNEL_UPDATE_URL: "https://updates.invalid/updates.json" };
  return { ...updates, RUNNEL_WINDOWS_CERT: p12 };
}

/** Says that there is a newer version, by a list that is signed, and by no other. */
async function tellOfUpdates(machine: Machine, list: string): Promise<void> {
  const good = await machine.runnel("update", "--from", onWindows(list), "--json");
  expect(JSON.parse(good.said)).toMatchObject({ version: NEW, current: OLD, isNewer: true });
  const forged = sandbox.path("forged.json");
  writeFileSync(forged, readFileSync(list, "utf8").replace(NEW, "7.9.9"));
  const bad = await machine.runnel("update", "--from", onWindows(forged));
  expect(bad).toMatchObject({ code: 4, said: expect.stringContaining("Install nothing that it names") });
}

beforeAll(async () => {
  if (why !== "") return;
  sandbox = new Sandbox(ALL_MS);
  served = sandbox.makeFolder("served");
  server = await sandbox.startServer({ volumes: { docs: served }, args: ["--tls"] });
  const env = await signers();
  const both = async (version: string, folder: string): Promise<[Pack, Pack]> => {
    const [setup, msi] = await pack(["setup", "msi"], version, sandbox.makeFolder(folder), env);
    if (setup === undefined || msi === undefined) throw new Error("Something was not made.");
    return [setup, msi];
  };
  const [oldSetup, oldMsi] = await both(OLD, "old");
  const [newSetup, newMsi] = await both(NEW, "new");
  const [againSetup, againMsi] = await both(NEW, "again");
  packs = {
    setup: { old: oldSetup, new: newSetup, again: againSetup },
    msi: { old: oldMsi, new: newMsi, again: againMsi },
  };
}, ALL_MS);

afterAll(() => sandbox?.cleanup(), 120_000);

const withMachine = (name: string, act: (machine: Machine) => Promise<void>): Promise<void> =>
  Machine.with(sandbox, name, act);

/** Makes one file of the server in memory: Wine shows no symlinks, by which its sources find each other. */
async function bundleServer(): Promise<string> {
  const folder = sandbox.makeFolder("server");
  const path = join(folder, "src/main.js");
  await build({
    entryPoints: [SERVER],
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    external: ["better-sqlite3", "x11"],
    banner: { js: COMMON_JS },
    logLevel: "warning",
  });
  writeFileSync(join(folder, "package.json"), '{"type":"module"}\n');
  const addon = "prebuilds/win32-x64/core.node";
  mkdirSync(join(folder, dirname(addon)), { recursive: true });
  copyFileSync(fileURLToPath(new URL(`../../native/${addon}`, import.meta.url)), join(folder, addon));
  copySqlite(folder);
  return path;
}

/** Lets the machine in. @returns the address of the volume */
async function logIn(machine: Machine): Promise<string> {
  const place = ["--data", sandbox.path("data"), "--address", `127.0.0.1:${server.port}`];
  const { invite } = await sandbox.device("admin").ask(["invite", "docs", ...place]);
  const { code, said } = await machine.runnel("login", String(invite), "--json");
  if (code !== 0) throw new Error(`runnel login ended with ${code}: ${said}`);
  return String((JSON.parse(said) as { url: string }).url);
}

/** Says the page that the window opens in the browser, as the shortcut of the menu has it opened. */
async function pageOf(machine: Machine): Promise<string> {
  const { code, said } = await machine.runnel("ui", "--print");
  expect({ code, said }).toMatchObject({ code: 0 });
  const link = new URL(said.trim());
  expect(link.hostname).toBe("127.0.0.1");
  const answer = await fetch(link);
  expect(answer.headers.get("content-type")).toContain("text/html");
  const page = await answer.text();
  const [, script = ""] = /<script[^>]* src="([^"]+)"/.exec(page) ?? [];
  // Scripts of the page are installed, too.
  const loaded = await fetch(new URL(script, link));
  expect([loaded.status, loaded.headers.get("content-type")]).toEqual([200, expect.stringContaining("javascript")]);
  const entered = await enterByLink(Number(link.port), link.hash.slice(1));
  expect(entered.status).toBe(200);
  return page;
}

/** Value by which Windows starts this copy at log-in; "" for none. */
async function startedAtLogin(machine: Machine): Promise<string> {
  return (
    new RegExp(`${AT_LOGIN.STARTS} +REG_SZ +(\\S.*?)\\r?\\n`).exec(
      await machine.registry(`HKCU\\${AT_LOGIN.RUN}`),
    )?.[1] ?? ""
  );
}

async function startAtLogin(machine: Machine): Promise<void> {
  expect(await machine.runnel("start-at-login", "on")).toMatchObject({ code: 0 });
  expect(await startedAtLogin(machine)).toMatch(`"${INSTALLED}\\node.exe"`);
}

/** Has the installed program say its version and move a content each way; the machine is known to the server. */
async function useInstalled(machine: Machine, version: string, url: string): Promise<void> {
  expect(await machine.runnel("--version")).toMatchObject({
    code: 0,
    said: expect.stringMatching(`^${version}\r?\n$`),
  });
  const bytes = randomBytes(MOVED_BYTES);
  const [sent, back, name] = [
    sandbox.path("sent"),
    sandbox.path("back"),
    `from-${basename(machine.folder)}-${version}`,
  ];
  writeFileSync(sent, bytes);
  expect(await machine.runnel("cp", onWindows(sent), `${url}/${name}`)).toMatchObject({ code: 0 });
  await waitFor(() => existsSync(join(served, name)), STEP_MS, "the file on the server");
  expect(readFileSync(join(served, name)).equals(bytes)).toBe(true);
  const others = randomBytes(MOVED_BYTES);
  writeFileSync(join(served, `for-${name}`), others);
  const copies = async (): Promise<boolean> =>
    (await machine.runnel("cp", `${url}/for-${name}`, onWindows(back))).code === 0;
  await waitFor(copies, STEP_MS, "what a program on the server wrote");
  expect(readFileSync(back).equals(others)).toBe(true);
  expect(machine.files(DATA)).toContain("agent.json");
}

describe("the set-up for Windows", () => {
  testHere(`is the same bytes when it is made twice${why}`, () => {
    expect(packs.setup.again.sha256).toBe(packs.setup.new.sha256);
    expect(packs.setup.old.sha256).not.toBe(packs.setup.new.sha256);
  });

  testHere(`is signed, as the package of msiexec is${why}`, async () => {
    for (const { path } of [packs.setup.new, packs.msi.new]) {
      const args = ["verify", "-CAfile", sandbox.path("certificate.pem"), "-in", path];
      expect((await run("osslsigncode", args)).code).toBe(0);
    }
  });

  testHere(
    `is installed, used, followed by a newer one while an agent runs, and removed; data stay${why}`,
    () =>
      withMachine("of-setup", async (machine) => {
        const entry = `HKCU\\${UNINSTALL}\\Runnel`;
        expect(await machine.run(onWindows(packs.setup.old.path), "/S")).toMatchObject({ code: 0 });
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining([...PARTS, "uninstall.exe"]));
        expect(machine.files(MENU)).toEqual(["Runnel command line.lnk", "Runnel.lnk"]);
        expect(await machine.registry(entry)).toMatch(new RegExp(`DisplayVersion +REG_SZ +${OLD}\\s`));
        const url = await logIn(machine);
        await useInstalled(machine, OLD, url);
        await tellOfUpdates(machine, join(dirname(packs.setup.new.path), "updates.json"));
        await startAtLogin(machine);

        expect(await machine.run(onWindows(packs.setup.new.path), "/S")).toMatchObject({ code: 0 });
        expect(machine.files(DATA)).not.toContain("agent.json");
        expect(await machine.registry(entry)).toMatch(new RegExp(`DisplayVersion +REG_SZ +${NEW}\\s`));
        await useInstalled(machine, NEW, url);
        expect(await pageOf(machine)).toContain("<title>Runnel");
        expect(await startedAtLogin(machine)).toContain(INSTALLED);

        await machine.uninstall();
        await waitFor(async () => (await machine.registry(entry)) === "", STEP_MS, "the entry to go");
        expect(existsSync(machine.path(MENU))).toBe(false);
        expect(machine.files(DATA)).toContain("agent.log");
        expect(await startedAtLogin(machine)).toBe("");
        expect(await machine.registry("HKCU\\Software\\Runnel")).toBe("");
      }),
    ALL_MS,
  );

  testHere(
    `stays whole while a command runs in another window, and is removed whole once that has ended${why}`,
    () =>
      withMachine("of-command", async (machine) => {
        expect(await machine.run(onWindows(packs.setup.new.path), "/S")).toMatchObject({ code: 0 });
        const before = machine.files(PROGRAMS);
        const started = machine.path("started");
        const file = JSON.stringify(onWindows(started));
        // Runs as long as the file is there that it makes.
        const command = machine.startInside(
          `const fs = require("fs"); fs.writeFileSync(${file}, "");
          const each = setInterval(() => fs.existsSync(${file}) || clearInterval(each), 50)`,
        );
        await waitFor(() => existsSync(started), STEP_MS, "the command");
        expect(await machine.uninstallInPlace()).toMatchObject({ code: 2 });
        expect(machine.files(PROGRAMS)).toEqual(before);
        rmSync(started);
        if (command.exitCode === null) await once(command, "exit");
        expect(command.exitCode).toBe(0);
        // An installation that has lost a part of itself is removed as well.
        rmSync(machine.path(join(PROGRAMS, "runnel.cmd")));
        await machine.uninstall();
        expect(await machine.registry(`HKCU\\${UNINSTALL}\\Runnel`)).toBe("");
      }),
    ALL_MS,
  );

  testHere(
    `is not put over an agent that cannot be ended${why}`,
    () =>
      withMachine("of-refusal", async (machine) => {
        expect(await machine.run(onWindows(packs.setup.old.path), "/S")).toMatchObject({ code: 0 });
        // Ends as the command does while programs use a drive.
        writeFileSync(machine.path(join(PROGRAMS, "runnel.cmd")), "@exit /b 1\r\n");
        const before = machine.files(PROGRAMS);
        expect(await machine.run(onWindows(packs.setup.new.path), "/S")).toMatchObject({ code: 2 });
        expect(machine.files(PROGRAMS)).toEqual(before);
        expect(await machine.registry(`HKCU\\${UNINSTALL}\\Runnel`)).toContain(OLD);
      }),
    ALL_MS,
  );
});

describe("what the workflow of Windows does with them", () => {
  testHere(
    `installs each, copies by it, and leaves nothing of it; without a drive or one of them it fails${why}`,
    () =>
      withMachine("of-workflow", async (machine) => {
        const folder = dirname(packs.setup.new.path);
        const words = [onWindows(folder), "--server", onWindows(await bundleServer())];
        const { code, said } = await machine.script(TRY_INSTALLERS, ...words, "--no-drive");
        expect({ code, said }).toMatchObject({ code: 0 });
        for (const { path } of [packs.setup.new, packs.msi.new])
          expect(said).toContain(`${basename(path)}: installed, used and removed`);
        expect(said.match(/Copied 1 file/g)).toHaveLength(4);
        const empty = await machine.script(TRY_INSTALLERS, onWindows(sandbox.makeFolder("none")));
        expect(empty).toMatchObject({ code: 1, said: expect.stringContaining("has 0 of") });
        // WinFsp is not installed here.
        const mapping = await machine.script(TRY_INSTALLERS, ...words);
        expect(mapping).toMatchObject({ code: 1, said: expect.stringMatching(/ mount ws:.* R:" ended with [1-9]/) });
      }),
    ALL_MS,
  );
});

describe("the package of msiexec", () => {
  testHere(`is the same bytes when it is made twice${why}`, () => {
    expect(packs.msi.again.sha256).toBe(packs.msi.new.sha256);
    expect(basename(packs.msi.new.path)).toBe(`runnel-${NEW}.msi`);
  });

  testHere(
    `is installed, used, followed by a newer one while an agent runs, and removed; data stay${why}`,
    () =>
      withMachine("of-msi", async (machine) => {
        const msiexec = (what: string, { path }: Pack): Promise<Ran> =>
          machine.run("msiexec", what, onWindows(path), "/qn");
        // Wine writes the entries of all users there, also of packages for one.
        const entries = async (): Promise<string[]> =>
          [...(await machine.registry(`HKLM\\${UNINSTALL}`)).matchAll(/DisplayVersion +REG_SZ +(\S+)/g)].map(
            ([, version = ""]) => version,
          );
        expect(await msiexec("/i", packs.msi.old)).toMatchObject({ code: 0 });
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining(PARTS));
        expect(machine.files(MENU)).toEqual(["Runnel.lnk"]);
        expect(await entries()).toEqual([OLD]);
        const url = await logIn(machine);
        await useInstalled(machine, OLD, url);

        expect(await msiexec("/i", packs.msi.new)).toMatchObject({ code: 0 });
        expect(machine.files(DATA)).not.toContain("agent.json");
        expect(await entries()).toEqual([NEW]);
        expect(machine.files(PROGRAMS)).toEqual(expect.arrayContaining(PARTS));
        await useInstalled(machine, NEW, url);
        await startAtLogin(machine);

        expect(await msiexec("/x", packs.msi.new)).toMatchObject({ code: 0 });
        expect(existsSync(machine.path(PROGRAMS))).toBe(false);
        expect(existsSync(machine.path(MENU))).toBe(false);
        expect(await entries()).toEqual([]);
        expect(await startedAtLogin(machine)).toBe("");
        expect(await machine.registry("HKCU\\Software\\Runnel")).toBe("");
        expect(machine.files(DATA)).toContain("agent.log");
        expect(machine.files(DATA)).not.toContain("agent.json");
      }),
    ALL_MS,
  );
});
