// Checks for WinFsp where its installer puts it, unless a person chose another folder.
import { constants } from "node:fs";
import { join } from "node:path";
import { type Checked, DRIVES, opens } from "../checked.ts";
import type { Environment } from "../system.ts";

const WINFSP = join("WinFsp", "bin", "winfsp-x64.dll");

export async function checkDrives(environment: Environment): Promise<Checked> {
  const programs = environment["ProgramFiles(x86)"] ?? "C:\\Program Files (x86)";
  if (await opens(join(programs, WINFSP), constants.R_OK))
    return { about: DRIVES, isFine: true, sentence: "WinFsp, which shows drives, is installed.", next: null };
  const sentence = `WinFsp, which shows drives, is not in ${programs}.`;
  const next = "Unless it is elsewhere, install it from https://github.com/winfsp/winfsp.";
  return { about: DRIVES, isFine: false, sentence, next };
}
