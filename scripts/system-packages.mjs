// Packages of the system: what is missing on Debian, and installing it. Depends on nothing, since set-up uses it.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

export function hasCommand(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      // Absent from this folder: the next one is tried.
    }
  }
  return false;
}

export function isDebian() {
  if (process.platform !== "linux" || !hasCommand("dpkg-query") || !hasCommand("apt-get")) return false;
  const release = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  return /^ID(_LIKE)?=.*\b(debian|ubuntu)\b/m.test(release);
}

/** "12" and the like; undefined where it does not say. */
export function debianVersion() {
  return /^VERSION_ID="?(\d+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
}

/** "bookworm" and the like; undefined where it does not say. */
export function debianCodename() {
  return /^VERSION_CODENAME=(\w+)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1];
}

/** Filters the names to those that are not installed. */
export function missingDebianPackages(names) {
  const asked = spawnSync("dpkg-query", ["-W", "-f", "${Package} ${db:Status-Status}\n", ...names], {
    encoding: "utf8",
  });
  const installed = new Set();
  for (const line of asked.stdout.split("\n")) {
    const [name, status] = line.split(" ");
    if (status === "installed") installed.add(name);
  }
  return names.filter((name) => !installed.has(name));
}

/**
 * Installs them with apt-get where this user is root.
 * @throws Error whose message says what to install, or that apt-get failed.
 */
export function installDebianPackages(names) {
  if (names.length === 0) return;
  const install = ["install", "-y", "--no-install-recommends", ...names];
  if (process.getuid() !== 0) {
    throw new Error(
      `Runnel needs system packages that are not installed: ${names.join(", ")}. Install them, then try again:\n\n` +
        `    sudo apt-get update && sudo apt-get ${install.join(" ")}\n`,
    );
  }
  console.log(`Installing system packages: ${names.join(", ")}`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  for (const args of [
    ["update", "-qq"],
    ["-qq", ...install],
  ]) {
    const { status } = spawnSync("apt-get", args, { stdio: "inherit", env });
    if (status !== 0) throw new Error(`"apt-get ${args.join(" ")}" failed; its message stands above.`);
  }
}
