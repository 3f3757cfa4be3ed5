// The product as it was before it had packages or a drive over NFS, for a package that a newer one has to follow:
// sources and npm packages of that commit, and the packer of today.
import { cpSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type Sandbox, mustRun } from "../harness/index.ts";

const ROOT = resolve(fileURLToPath(new URL("../../..", import.meta.url)));
/**
 * Added by the first commit of all that came with the packages, the drive over NFS. The commit before it, ac31b766, is
 * the last without any of it; the packer itself came later, when such a drive was there already.
 */
const FIRST_AFTER = "docs/nfs.md";
/** The packer, and what it reads beside the product. */
const PACKER = ["installers/main.ts", "installers/src", "installers/linux", "scripts", "docs/linux.md"];
const FEED = "app/src/cli/updates";
const INSTALL_MS = 300_000;

/** Makes it in the sandbox, unbuilt. @throws Error where the history does not reach as far back */
export async function earlierClone(sandbox: Sandbox): Promise<string> {
  const folder = sandbox.path("earlier");
  const git = async (...args: string[]): Promise<string> => (await mustRun("git", ["-C", ROOT, ...args])).stdout.trim();
  const added = await git("log", "--diff-filter=A", "--format=%H", "--", FIRST_AFTER);
  const before = await git("rev-parse", "--verify", `${added.split("\n").at(-1)}^`);
  await git("clone", "--quiet", "--shared", "--no-checkout", ROOT, folder);
  await mustRun("git", ["-C", folder, "checkout", "--quiet", "--detach", before]);
  for (const path of [...PACKER, FEED]) cpSync(join(ROOT, path), join(folder, path), { recursive: true });
  await mustRun("npm", ["ci", "--no-audit", "--no-fund"], { cwd: folder, deadlineMs: INSTALL_MS });
  return folder;
}
