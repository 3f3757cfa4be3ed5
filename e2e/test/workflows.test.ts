// Holds the workflow files for Windows, macOS and Linux to what can be tried here: their steps call scripts of the
// project, which exist; actions of others are pinned; drivers are the ones that were meant. actionlint looks at the
// rest (workflows.long.test.ts).
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { DRIVE_SOFTWARE } from "../../scripts/drive-software.ts";
import { fetchPinned } from "../../scripts/pinned-file.ts";
import { mountObstacle } from "@runnel/native/test/support/mount-place.ts";
import { ABSENT, refusalOf, scenarioFiles, titlesFor } from "../../scripts/scenarios.ts";
import { winfspNamed } from "../../installers/src/windows.ts";
import { SUITE } from "../conformance/winfsp.ts";
import { listedTests, resultOf, summaryOf } from "../conformance/winfsp-suite.ts";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const FOLDER = join(ROOT, ".github/workflows");
const FILES = readdirSync(FOLDER).filter((name) => name.endsWith(".yml"));

const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  scripts: Record<string, string>;
};
const textOf = (name: string): string => readFileSync(join(FOLDER, name), "utf8");

/** Values of a key, wherever it stands. */
function valuesOf(text: string, key: string): string[] {
  return [...text.matchAll(new RegExp(`^ *(?:- )?${key}:(?: +(.*))?$`, "gm"))].map(([, value = ""]) => value.trim());
}

/** Why a step's command cannot be tried here; undefined when it can. */
function problemOf(command: string): string | undefined {
  if (command === "npm ci" || command === "npm test") return undefined;
  if (command === ".ci/run") return existsSync(join(ROOT, command)) ? undefined : "there is no such file";
  const [, program] = /^npx ([\w-]+)$/.exec(command) ?? [];
  if (program !== undefined)
    return existsSync(join(ROOT, "node_modules/.bin", program)) ? undefined : "is no program of a package";
  const [, name = "", rest = ""] = /^npm run ([\w:-]+)(?: -- ([\w -]+))?$/.exec(command) ?? [];
  const script = scripts[name];
  if (script === undefined) return "is no command of package.json";
  const [, file = ""] = /^node (\S+)/.exec(script) ?? [];
  if (!existsSync(join(ROOT, file))) return `${file} does not exist`;
  const source = readFileSync(join(ROOT, file), "utf8");
  const unknown = rest
    .split(" ")
    .filter((word) => word !== "" && !new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(source));
  return unknown.length === 0 ? undefined : `${file} does not know ${unknown.join(", ")}`;
}

describe("workflow files", () => {
  test("are there for Linux, macOS and Windows, and each builds, brings the driver and runs what its system can", () => {
    const commands = Object.fromEntries(FILES.map((name) => [name, valuesOf(textOf(name), "run")]));
    expect(commands).toEqual({
      "linux.yml": [
        ".ci/run",
        "npm run setup",
        "npx install-electron",
        "npm run pack -- deb rpm tar container desktop desktop-rpm appimage",
        "npm run test:long",
      ],
      "macos.yml": [
        "npm ci",
        "npm run drive-software",
        "npm run build:native",
        "npm run scenarios",
        "npm ci",
        "npm run build:native",
        "npm run scenarios -- drive-nfs-mapped",
        "npm run setup",
        "npm run pack -- macos",
        "npm ci",
        "npm run pack:here -- pkg dmg app",
        "npm run build:native",
        "npm run try-installers",
      ],
      "windows.yml": [
        "npm ci",
        "npm run build:all -- win32-x64",
        "npm ci",
        "npm run drive-software",
        "npm run scenarios",
        "npm run conformance:winfsp",
        "npm ci",
        "npm run pack:here -- app",
        "npm run setup",
        "npm run pack -- setup msi --winfsp fetch",
        "npm ci",
        "npm run try-installers",
      ],
    });
  });

  test.each(FILES)("%s runs nothing but what can be tried here too", (name) => {
    const problems = valuesOf(textOf(name), "run").map((command) => `${command}: ${problemOf(command)}`);
    expect(problems.filter((line) => !line.endsWith(": undefined"))).toEqual([]);
  });

  test.each([
    ["npm run packs", "is no command of package.json"],
    ["npm run pack -- deb snap", "installers/main.ts does not know snap"],
    ["npm run build:all -- win32-arm", "native/build-all.mjs does not know win32-arm"],
    ["echo hello", "is no command of package.json"],
    ["npx some-electron", "is no program of a package"],
    ["|", "is no command of package.json"],
  ])("%s would be found out", (command, problem) => {
    expect(problemOf(command)).toBe(problem);
  });

  test.each(FILES)("%s pins the work of others, ends in time and may only read", (name) => {
    const text = textOf(name);
    const uses = valuesOf(text, "uses");
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((each) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(each))).toEqual([]);
    expect(text.match(/^permissions:\n {2}contents: read\n(?! )/gm)).toHaveLength(1);
    expect(valuesOf(text, "timeout-minutes")).toHaveLength(valuesOf(text, "runs-on").length);
    expect(text).not.toMatch(/secrets\.|pull_request_target/);
  });
});

describe("scenarios of a system", () => {
  test.each(["linux", "darwin", "win32"] as const)("of %s are files that exist", (platform) => {
    const files = scenarioFiles(platform);
    expect(files).toContain("native/test/drive-fuse.test.ts");
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  test("may be some of them, by their names", () => {
    expect(scenarioFiles("darwin", ["drive-nfs-mapped"])).toEqual(["native/test/drive-nfs-mapped.test.ts"]);
    expect(() => scenarioFiles("win32", ["drive-nfs-mapped"])).toThrow(
      "win32 has no scenarios called drive-nfs-mapped",
    );
  });

  test.each<[NodeJS.Platform, RegExp, string]>([
    ["darwin", /macfuse\.fs$/, "macFUSE is not installed"],
    ["darwin", /drive\.node$/, "native/build/drive.node is not built: it needs macFUSE's libfuse3"],
    ["win32", /winfsp-x64\.dll$/, "WinFsp is not installed"],
    ["win32", /drive\.node$/, "native/prebuilds/win32-x64/drive.node is not there"],
    ["aix", /./, "there is no drive for aix"],
  ])("on %s want a drive: without %s they fail, and say why", (platform, missing, why) => {
    const obstacle = mountObstacle(platform, (path) => !missing.test(path));
    expect(obstacle).toBe(why);
    const files = scenarioFiles(platform);
    expect(refusalOf(files, obstacle)).toMatch(`No drive can be mapped here: ${why}.`);
    expect(refusalOf(files, undefined)).toBeUndefined();
    expect(refusalOf(["native/test/drive-memory.test.ts"], obstacle)).toBeUndefined();
    if (platform !== "aix") expect(mountObstacle(platform, () => true)).toBeUndefined();
  });

  test("leave out what Windows lacks, by its title, and what only Wine lacks they do not", () => {
    expect(titlesFor([])).toBeUndefined();
    const pattern = titlesFor(ABSENT.win32 ?? []) ?? "";
    const runs = (title: string): boolean => new RegExp(pattern, "i").test(title);
    expect(runs("a kernel's drive: names and attributes gives a file a second name")).toBe(false);
    expect(runs("memory drive: names and attributes gives a file a second name")).toBe(true);
    expect(runs("real disk watching is told of what changes")).toBe(false);
    expect(runs("real disk handles are of anything")).toBe(false);
    expect(runs("real disk handles are not used again")).toBe(true);
  });
});

describe("software of others", () => {
  let folder: string;
  let served: string;
  let requests = 0;
  const server = createServer(({ url }, answer) => {
    requests++;
    answer.writeHead(url === "/driver.msi" ? 200 : 404).end("a driver");
  });
  const sha256 = createHash("sha256").update("a driver").digest("hex");

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "runnel-pinned-"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    served = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  test("is of one version, from its vendor, and named by its digest", () => {
    const all = [...Object.values(DRIVE_SOFTWARE).map(({ installer }) => installer), SUITE];
    expect(all).toHaveLength(3);
    for (const { url, sha256: digest } of all) {
      expect(url).toMatch(/^https:\/\/github\.com\/(winfsp\/winfsp|macfuse\/macfuse)\/releases\/download\//);
      expect(digest).toMatch(/^[0-9a-f]{64}$/);
    }
    for (const { version, installer } of Object.values(DRIVE_SOFTWARE)) expect(installer.url).toContain(version);
    expect(SUITE.url).toContain(DRIVE_SOFTWARE.win32.version);
  });

  test("is fetched once when it is the one that was meant", async () => {
    const path = await fetchPinned({ url: `${served}/driver.msi`, sha256 }, join(folder, "good"));
    expect(readFileSync(path, "utf8")).toBe("a driver");
    const before = requests;
    expect(await fetchPinned({ url: `${served}/driver.msi`, sha256 }, join(folder, "good"))).toBe(path);
    expect(requests).toBe(before);
  });

  test("is not kept when it is another, or not there", async () => {
    const bad = join(folder, "bad");
    const other = { url: `${served}/driver.msi`, sha256: "0".repeat(64) };
    await expect(fetchPinned(other, bad)).rejects.toThrow(/is not what it was: its SHA-256 is [0-9a-f]{64}/);
    await expect(fetchPinned({ url: `${served}/none.msi`, sha256 }, bad)).rejects.toThrow(/was answered 404/);
    expect(readdirSync(bad)).toEqual([]);
  });

  test("is what a set-up brings: fetched by its digest, or named and compared with it", async () => {
    const into = join(folder, "winfsp");
    const pinned = { url: `${served}/driver.msi`, sha256 };
    const path = await winfspNamed("fetch", pinned, into);
    expect(readFileSync(path, "utf8")).toBe("a driver");
    const other = { ...pinned, sha256: "0".repeat(64) };
    await expect(winfspNamed("fetch", other, into)).rejects.toThrow(/is not what it was/);
    expect(await winfspNamed(path, pinned, into)).toBe(path);
    await expect(winfspNamed(path, other, into)).rejects.toThrow(/is not the installer of WinFsp that is meant/);
  });
});

describe("what WinFsp's suite prints", () => {
  test("is read as names", () => {
    expect(listedTests("create_test\r\nrdwr_noncached_test\r\n\r\n")).toEqual(["create_test", "rdwr_noncached_test"]);
  });

  test.each([
    ["ok 1 create_test\r\n1..1\r\n", 0, "passed", ""],
    [
      "not ok 1 create_test\r\n# ASSERT(0 == Result) failed at create-test.c:51:create_dotest\r\n",
      3,
      "failed",
      "ASSERT(0 == Result) failed at create-test.c:51:create_dotest",
    ],
    ["", null, "overdue", "was still running at its deadline"],
    ["", 0xc0000005, "ended", "ended with 3221225477 and said nothing of it"],
    ["1..0\r\n", 0, "ended", "ended with 0 and said nothing of it"],
    ["ok 1 create_test\r\n", 1, "ended", "ended with 1 and said nothing of it"],
  ])("%j with code %p means that a test has %s", (printed, code, outcome, detail) => {
    expect(resultOf("create_test", printed, code)).toEqual({ name: "create_test", outcome, detail });
  });

  test("is summed up: known failures count as passed, known failures that pass as failed", () => {
    const results = [
      resultOf("one_test", "ok 1 one_test\n", 0),
      resultOf("two_test", "not ok 1 two_test\n# ASSERT(x)\n", 3),
      resultOf("three_test", "ok 1 three_test\n", 0),
    ];
    expect(summaryOf(results, { two_test: "no streams" })).toEqual({
      lines: ["failed two_test: ASSERT(x) (no streams)", "3 passed, 0 failed"],
      isGood: true,
    });
    expect(summaryOf(results, { three_test: "no streams", four_test: "no links" })).toEqual({
      lines: [
        "failed two_test: ASSERT(x)",
        "passes now: three_test",
        "is no test of the suite: four_test",
        "1 passed, 3 failed",
      ],
      isGood: false,
    });
    expect(summaryOf([], {}).isGood).toBe(false);
  });
});
