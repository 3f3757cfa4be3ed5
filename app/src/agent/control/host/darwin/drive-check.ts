// Checks for macFUSE where its installer puts it. Whether its user has allowed it in System Settings is not asked.
import { constants } from "node:fs";
import { join } from "node:path";
import { type Checked, DRIVES, opens } from "../checked.ts";
import type { Environment } from "../system.ts";

const MACFUSE = "Library/Filesystems/macfuse.fs";

export async function checkDrives(_environment: Environment, root: string): Promise<Checked> {
  if (await opens(join(root, MACFUSE), constants.R_OK))
    return { about: DRIVES, isFine: true, sentence: "macFUSE, which shows drives, is installed.", next: null };
  const sentence = "macFUSE, which shows drives, is not installed.";
  const next = "Map drives with --nfs, which needs none, or install it from https://macfuse.io.";
  return { about: DRIVES, isFine: false, sentence, next };
}
