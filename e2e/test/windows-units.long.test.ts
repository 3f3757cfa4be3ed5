// Unit tests of the agent and of what both ends share, as Windows runs them, as far as Wine shows that: each file in a
// process of its own. What a test needs that is not there is said beside it.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "@jest/globals";
import { type Absent, faultsOf, NO_FAULTS } from "@runnel/native/test/plain/absent.ts";
import { runOnWindows } from "@runnel/native/test/plain/windows.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** The addons for Windows are compiled, with zig's C++ library, when nothing of it is there yet. */
const BUILD_MS = 60 * 60_000;

/** Files that are not run there, each with the reason. */
const EXCLUDED: readonly [path: RegExp, why: string][] = [
  [/^app\/test\/ui|^shared\/test\/ui/, "pages run in a browser"],
  [/^app\/test\/main\/host\/linux/, "Linux alone has desktop entries"],
  [
    /cli\/(command-line|start-at-login)|control\/agent-process/,
    "they start programs from their sources; windows.long.test.ts has installed ones",
  ],
  [/host\/posix\/run-program/, "it runs a shell"],
  [/machine\/host\/open-bus/, "Linux alone has such buses"],
  [/calls\/line-carrier/, "it listens at a socket in a folder"],
  [/mail\/host\/smtp-tls|cli\/mail-relay/, "its certificates are made by openssl"],
  [/objects\/copy-tree/, "its files in memory have other paths"],
  [/cli\/bad-input/, "its drive is at a folder"],
];

const ABSENT: readonly Absent[] = [
  [
    /that cannot be watched over is mounted all the same|the system unmounted, and that has not ended yet/,
    "a drive is at a letter",
  ],
  [/cache-crash/, "a database that is open is not removed"],
  [/a volume to serve › is a name and a folder/, "paths of a server, which runs on Linux"],
  [
    /made for its user alone|is for its user alone|puts the socket elsewhere/,
    "no modes are kept, and sockets are pipes",
  ],
  [/posts the ticket, and lies where|file that a browser is started with/, "no modes are kept"],
  [/Linux without FUSE is told of the device/, "programs have no mode"],
  [/an agent on (Linux|macOS) › replaces/, "folders are not synced"],
  [/an agent on (Linux|macOS) › has a home of its own/, "no modes are kept"],
  [
    /macOS › (has drives of its process|has no drive in the table|takes nothing for dead|leads a path in a drive|takes a dead drive away)/,
    "no program lists mounts",
  ],
  [/a fault of our own keeps its stack/, "its file is in a bundle"],
  [/has a row for each folder/, "paths are written otherwise"],
  [/has swallowed an attempt/, "no process can be halted"],
  [
    /the secret of a place › (is made once|comes back|is not taken from a file that|lies in no)|that cannot be used is named|\[W165\] one who has taken/,
    "a server's, in a folder of Linux",
  ],
  [/a leased file from being written to/, "the simulated disk is one of Linux"],
  [/also through a link inside|links (on a stick )?are not followed/, "no symlinks are made"],
  [/whose file cannot be written still have links/, "what lies below a file is not found"],
  [/an agent on Windows listens at › is not another's/, "Wine lets two listen at one pipe"],
];

/** Tests that skip themselves there, each with the reason. */
const SKIPPED: readonly Absent[] = [
  [/opening a browser|a program in the background|› runnel ui ›/, "they start scripts of a shell, or look into /proc"],
  [
    /line\.test\.ts › is asked by the desktop app|openers\.test\.ts › asks the agent/,
    "they start agents from their sources",
  ],
  [/(is refused when it is|cannot be read by) another user/, "nobody is another user there"],
  [/NetworkManager|the keyring of a session/, "Linux alone has such buses"],
  [/a real network whose address changes/, "no network of one's own is made"],
  [/the keychain, through a program like macOS'/, "that program is a script of a shell"],
  [/sources\.test\.ts .*in windows, each of them/, "the long run has it"],
  [/login-starts\.test\.ts › (systemd|a plist|a unit|the unit)/, "other systems start such entries"],
  [/login-starts\.test\.ts › an entry that cannot be read/, "its entry is a file"],
];

/** Tests of which nothing is said, each with the reason. */
const UNJUDGED: readonly [title: RegExp, why: string][] = [
  [/\[limit connections\]/, "of 4,096 sockets Wine closes some where the machine has other work"],
];

function testFiles(): string[] {
  const found = ["app/test", "shared/test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  return found.filter((path) => path.endsWith(".test.ts") && !path.endsWith(".long.test.ts")).sort();
}

test(
  "unit tests of app and shared pass on Windows, but for what is missing there",
  async () => {
    execFileSync(process.execPath, [join(ROOT, "native", "build-all.mjs"), "win32-x64"], { stdio: "inherit" });
    const files = testFiles();
    expect(EXCLUDED.filter(([path]) => !files.some((file) => path.test(file)))).toEqual([]);
    const folder = mkdtempSync(join(tmpdir(), "runnel-windows-"));
    const run = files.filter((file) => !EXCLUDED.some(([path]) => path.test(file)));
    const results = await runOnWindows(folder, run).finally(() => rmSync(folder, { recursive: true }));
    const judged = results.filter(({ title }) => !UNJUDGED.some(([each]) => each.test(title)));
    expect(faultsOf(judged, ABSENT)).toEqual(NO_FAULTS);
    const skipped = results.filter(({ outcome }) => outcome === "skipped").map(({ title }) => title);
    expect(skipped.filter((title) => !SKIPPED.some(([named]) => named.test(title)))).toEqual([]);
    expect(SKIPPED.filter(([named]) => !skipped.some((title) => named.test(title)))).toEqual([]);
    expect(results.length).toBeGreaterThan(2000);
  },
  BUILD_MS,
);
