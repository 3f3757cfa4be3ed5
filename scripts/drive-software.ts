// Installs what shows drives to programs: WinFsp on Windows, macFUSE on macOS, fuse3 on Debian and its kin. Installers
// are their vendors' own, unmodified and of one version, and nothing of them runs before it was compared with its
// SHA-256.    npm run drive-software
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type PinnedFile, fetchPinned } from "./pinned-file.ts";
import { installDebianPackages, isDebian, missingDebianPackages } from "./system-packages.mjs";

const TOOLS = fileURLToPath(new URL("../.setup/tools", import.meta.url));

export interface DriveSoftware {
  name: string;
  version: string;
  installer: PinnedFile;
  /** Commands that install it from where it was fetched to, one after the other. */
  steps(path: string): readonly (readonly string[])[];
}

const MACFUSE_VERSION = "5.3.3";
const MACFUSE_IMAGE = "/Volumes/runnel-macfuse";

/** Systems whose package manager does not have it. */
export const DRIVE_SOFTWARE: Readonly<Record<"win32" | "darwin", DriveSoftware>> = {
  win32: {
    name: "WinFsp",
    version: "2.1.25156",
    installer: {
      url: "https://github.com/winfsp/winfsp/releases/download/v2.1/winfsp-2.1.25156.msi",
      sha256: "073a70e00f77423e34bed98b86e600def93393ba5822204fac57a29324db9f7a",
    },
    steps: (path) => [["msiexec", "/i", path, "/qn", "/norestart"]],
  },
  darwin: {
    name: "macFUSE",
    version: MACFUSE_VERSION,
    installer: {
      url: `https://github.com/macfuse/macfuse/releases/download/macfuse-${MACFUSE_VERSION}/macfuse-${MACFUSE_VERSION}.dmg`,
      sha256: "7a0b7b66c0e7f8932707d1215dc9cf486e178d097ae0a2dcdf17d8530566aa15",
    },
    steps: (path) => [
      ["hdiutil", "attach", "-nobrowse", "-readonly", "-mountpoint", MACFUSE_IMAGE, path],
      ["sudo", "installer", "-pkg", `${MACFUSE_IMAGE}/Extras/macFUSE ${MACFUSE_VERSION}.pkg`, "-target", "/"],
      ["hdiutil", "detach", MACFUSE_IMAGE],
    ],
  },
};

function perform(words: readonly string[]): void {
  const [command = "", ...args] = words;
  const { error, status } = spawnSync(command, args, { stdio: "inherit" });
  if (error) throw new Error(`Cannot run ${command}: ${error.message}`);
  if (status !== 0) throw new Error(`"${words.join(" ")}" failed with ${status}; its message stands above.`);
}

async function main(): Promise<void> {
  const software = process.platform in DRIVE_SOFTWARE ? DRIVE_SOFTWARE[process.platform as "win32"] : undefined;
  if (software !== undefined) {
    console.log(`Installing ${software.name} ${software.version}`);
    const path = await fetchPinned(software.installer, join(TOOLS, "drive-software"));
    for (const step of software.steps(path)) perform(step);
  } else if (isDebian()) {
    installDebianPackages(missingDebianPackages(["fuse3"]));
  } else {
    throw new Error("Install fuse3 with your system's package manager.");
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: Error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
