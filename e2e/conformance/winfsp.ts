// Runs WinFsp's own suite, winfsp-tests, on a drive of ours, on Windows with WinFsp installed (npm run drive-software).
// Behind the drive is the agent of the addon's tests, a tree in memory: a server runs on Linux only.
//
//     npm run conformance:winfsp              each test by itself, with a deadline
//     npm run conformance:winfsp -- rdwr*     those that match
//
// Ends with 1 when a test failed that is not known to.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fetchPinned } from "../../scripts/pinned-file.ts";
import { type SuiteResult, listedTests, resultOf, summaryOf } from "./winfsp-suite.ts";

const TOOLS = fileURLToPath(new URL("../../.setup/tools", import.meta.url));
const DRIVE_SERVER = fileURLToPath(new URL("../../native/test/support/drive-server.ts", import.meta.url));

/** Beside the installer in WinFsp's release, and of the same version. */
export const SUITE = {
  url: "https://github.com/winfsp/winfsp/releases/download/v2.1/winfsp-tests-2.1.25156.zip",
  sha256: "0cfc68791703c80f96c729ebd38b63187de53e19baa1c603a7059d6ea87c5f52",
};

const LETTER = "R:";
const TEST_MS = 120_000;
/** The suite is to use what there is, and to bear with what comes late, as over the network. */
const OPTIONS = ["--external", "--resilient"];

/** Tests that cannot pass, each with its reason. Nobody has run the suite on a drive of ours yet. */
const KNOWN: Readonly<Record<string, string>> = {};

async function unpackedSuite(): Promise<string> {
  const folder = join(TOOLS, "winfsp-tests");
  const archive = await fetchPinned(SUITE, folder);
  const { status } = spawnSync("tar", ["-xf", archive, "-C", folder], { stdio: "inherit" });
  if (status !== 0) throw new Error(`${archive} could not be unpacked.`);
  const [program] = globSync("**/winfsp-tests-x64.exe", { cwd: folder });
  if (program === undefined) throw new Error(`${SUITE.url} has no winfsp-tests-x64.exe.`);
  return join(folder, program);
}

/** Maps a drive; the process that serves it is no program that uses it. */
async function startDrive(): Promise<ChildProcess> {
  const folder = mkdtempSync(join(tmpdir(), "runnel-winfsp-"));
  const child = spawn(process.execPath, [DRIVE_SERVER, LETTER, folder], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    serialization: "advanced",
  });
  await once(child, "message");
  child.send({ id: 1, method: "start", args: [] });
  const [answer] = (await once(child, "message")) as [{ error?: { message: string } }];
  if (answer.error !== undefined) throw new Error(answer.error.message);
  return child;
}

function runOne(program: string, name: string, cwd: string): SuiteResult {
  const ran = spawnSync(program, [...OPTIONS, "--tap", `+${name}`], { cwd, encoding: "utf8", timeout: TEST_MS });
  return resultOf(name, ran.stdout, ran.status);
}

async function main(patterns: readonly string[]): Promise<number> {
  if (process.platform !== "win32") {
    console.error("WinFsp's suite runs on Windows only.");
    return 2;
  }
  const program = await unpackedSuite();
  const wanted = patterns.length === 0 ? ["+*"] : patterns.map((pattern) => `+${pattern}`);
  const listed = spawnSync(program, [...OPTIONS, "--list", ...wanted], { encoding: "utf8" });
  const names = listedTests(listed.stdout);
  const drive = await startDrive();
  try {
    const place = `${LETTER}\\suite`;
    mkdirSync(place);
    const results = names.map((name) => runOne(program, name, place));
    const { lines, isGood } = summaryOf(results, patterns.length === 0 ? KNOWN : {});
    for (const line of lines) console.log(line);
    return isGood ? 0 : 1;
  } finally {
    drive.kill();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await main(process.argv.slice(2));
