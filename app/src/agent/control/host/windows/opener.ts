// Opens by a verb of the shell of Windows.
import type { CommandLine } from "../system.ts";

export function opener(path: string): CommandLine {
  // The first quoted word of `start` is the title of a window, and a path cannot have a quote in it.
  return { program: "cmd.exe", args: ["/d", "/c", `start "" "${path}"`], isVerbatim: true };
}
