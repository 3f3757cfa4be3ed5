// Makes a smallest Debian, of this system's release and from the mirror that it uses, for tests that install packages.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { debianCodename } from "./system-packages.mjs";
import { ensureDebian, perform, toolFolder } from "./tools.mjs";

/** Path of an archive of its tree, which is made once. About 60 MB to fetch; needs root. */
export function ensureDebianRoot() {
  const release = debianCodename();
  const folder = toolFolder(`debian-${release}`, (into) => {
    ensureDebian("debootstrap", ["debootstrap"]);
    const tree = join(into, "tree");
    perform("debootstrap", ["--variant=minbase", release, tree, mirrorOf(release)], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    perform("chroot", [tree, "apt-get", "clean"]);
    perform("tar", ["--numeric-owner", "-cf", join(into, "root.tar"), "-C", tree, "."]);
    rmSync(tree, { recursive: true });
  });
  return join(folder, "root.tar");
}

/** Asks apt where this system's own packages come from. */
function mirrorOf(release) {
  const format = "$(REPO_URI) $(CODENAME) $(COMPONENT)";
  const asked = spawnSync("apt-get", ["indextargets", "--format", format, "Created-By: Packages"], {
    encoding: "utf8",
  });
  const found = (asked.stdout ?? "").split("\n").map((line) => line.split(" "));
  const mirror = found.find(([, codename, component]) => codename === release && component === "main");
  if (mirror === undefined) throw new Error(`apt knows no place of ${release}: apt-get update may help.`);
  return mirror[0];
}
