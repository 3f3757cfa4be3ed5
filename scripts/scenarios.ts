// Runs the tests of the addons, the drive's scenarios among them, on the system that this is: on macOS and Windows what
// is there of them, with the drive of macFUSE or WinFsp as installed. What a system lacks is left out by its title and
// told; where no drive can be mapped, those of a kernel's drive fail before they begin. NAME: of a file, where only
// some are to run.    npm run scenarios [-- --list] [-- NAME…]
import { spawnSync } from "node:child_process";
import { basename, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { ABSENT_ON_WINDOWS, type Absent } from "../native/test/plain/absent.ts";
import { mountObstacle } from "../native/test/support/mount-place.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const EVERYWHERE = ["chunk", "codec", "digest", "disk", "drive-fuse", "drive-memory", "executor", "rechunk"];
const ONLY_THERE: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["drive-nfs-mapped"],
  linux: ["drive-nfs-mapped", "watch"],
  win32: ["disk-windows"],
};

/** Titles that are left out on a system, each with its reason. */
export const ABSENT: Readonly<Partial<Record<NodeJS.Platform, readonly Absent[]>>> = {
  win32: ABSENT_ON_WINDOWS,
};

/**
 * Test files of a system, from the project's root. `names`: those alone.
 * @throws Error when one of them is no file of the system
 */
export function scenarioFiles(platform: NodeJS.Platform, names: readonly string[] = []): string[] {
  const files = allFiles(platform);
  const nameOf = (file: string): string => basename(file, ".test.ts");
  const unknown = names.filter((name) => !files.some((file) => nameOf(file) === name));
  if (unknown.length > 0) throw new Error(`${platform} has no scenarios called ${unknown.join(", ")}.`);
  return names.length === 0 ? files : files.filter((file) => names.includes(nameOf(file)));
}

function allFiles(platform: NodeJS.Platform): string[] {
  const addons = [...EVERYWHERE, ...(ONLY_THERE[platform] ?? [])].map((name) => `native/test/${name}.test.ts`);
  return [...addons, ...["cbor", "frame", "messages"].map((name) => `shared/test/protocol/${name}.test.ts`)];
}

/**
 * Pattern of the titles that are to run; undefined for all. Jest joins the parts of a title by blanks, and the drive
 * that was tried under Wine is called a kernel's drive where it is WinFsp's own.
 */
export function titlesFor(absent: readonly Absent[]): string | undefined {
  if (absent.length === 0) return undefined;
  const left = absent.map(([{ source }]) =>
    source
      .replaceAll(" › ", " ")
      .replaceAll("› ", " ")
      .replaceAll(" ›", " ")
      .replace("WinFsp drive", "a kernel's drive"),
  );
  return `^(?!.*(${left.join("|")}))`;
}

/** Why files cannot all run: a drive is wanted, and `obstacle` says why none can be mapped. Undefined when they can. */
export function refusalOf(files: readonly string[], obstacle: string | undefined): string | undefined {
  if (obstacle === undefined || !files.some((file) => basename(file) === "drive-fuse.test.ts")) return undefined;
  return `No drive can be mapped here: ${obstacle}. Its scenarios would all be left out.`;
}

function main(words: readonly string[]): number {
  const absent = ABSENT[process.platform] ?? [];
  const names = words.filter((word) => word !== "--list");
  const files = scenarioFiles(process.platform, names);
  for (const [title, why] of absent) console.log(`left out: ${title.source} (${why})`);
  if (words.includes("--list")) {
    for (const file of files) console.log(file);
    return 0;
  }
  const refusal = refusalOf(files, mountObstacle());
  if (refusal !== undefined) {
    console.error(refusal);
    return 1;
  }
  const titles = titlesFor(absent);
  const jest = ["--no-sparkplug", "--experimental-vm-modules", "node_modules/jest/bin/jest.js", "--runInBand"];
  const args = [...jest, "--testTimeout=120000", ...(titles === undefined ? [] : ["-t", titles]), "--runTestsByPath"];
  return spawnSync(process.execPath, [...args, ...files], { cwd: ROOT, stdio: "inherit" }).status ?? 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = main(process.argv.slice(2));
