// A repository of Debian's for the debs that lie in a folder: the index that apt reads, and its signature. apt installs
// from it what the signed index names by its digest, and nothing else.
import { createHash } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { GOOD_MS } from "./feed.ts";
import { runTool } from "./run.ts";

const PACKAGES = "Packages";
const KEY = "runnel-archive.asc";
const FILES = [PACKAGES, "InRelease", KEY];

/**
 * Writes the index of the debs in `out`, signed, and the public key for those who are to believe it.
 * An old index is removed in any case: it would speak of packages that are gone.
 * @param gpg who signs; without it there is no index, since nobody should believe it
 */
export function writeRepository(out: string, gpg: string | undefined, nowMs: number): void {
  for (const name of FILES) rmSync(join(out, name), { force: true });
  if (gpg === undefined) return;
  writeFileSync(join(out, PACKAGES), runTool("dpkg-scanpackages", ["--multiversion", "."], { cwd: out }));
  const release = join(out, "Release");
  writeFileSync(release, releaseText(join(out, PACKAGES), nowMs));
  const by = ["--batch", "--yes", "--local-user", gpg];
  runTool("gpg", [...by, "--clearsign", "--digest-algo", "SHA256", "--output", join(out, "InRelease"), release]);
  // It is of no use without a signature.
  rmSync(release);
  writeFileSync(join(out, KEY), runTool("gpg", ["--batch", "--armor", "--export", gpg]));
}

/** Facts that apt asks of an index (wiki.debian.org/DebianRepository/Format). It is not believed after its end. */
function releaseText(packages: string, nowMs: number): string {
  const digest = createHash("sha256").update(readFileSync(packages)).digest("hex");
  return [
    "Origin: Runnel",
    "Label: Runnel",
    `Date: ${new Date(nowMs).toUTCString()}`,
    `Valid-Until: ${new Date(nowMs + GOOD_MS).toUTCString()}`,
    "SHA256:",
    ` ${digest} ${statSync(packages).size} ${PACKAGES}`,
    "",
  ].join("\n");
}
