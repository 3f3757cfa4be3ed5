// Opens by the program of macOS.
import type { CommandLine } from "../system.ts";

export function opener(path: string): CommandLine {
  return { program: "open", args: [path], isVerbatim: false };
}
