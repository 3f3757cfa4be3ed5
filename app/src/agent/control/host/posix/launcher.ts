// Starts programs in the background on Linux and macOS: in a session of their own, which no terminal ends.
import { launch } from "../launched-program.ts";
import type { BackgroundProgram, Launched } from "../system.ts";

export function startInBackground(program: BackgroundProgram): Launched {
  return launch(program, { detached: true });
}
