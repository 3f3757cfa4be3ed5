// Opens by the program of freedesktop.org.
import type { CommandLine } from "../system.ts";

export function opener(path: string): CommandLine {
  return { program: "xdg-open", args: [path], isVerbatim: false };
}
