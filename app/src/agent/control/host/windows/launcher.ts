// Starts programs in the background on Windows: with a console of their own, which no window shows.
import { launch } from "../launched-program.ts";
import type { BackgroundProgram, Launched } from "../system.ts";

export function startInBackground(program: BackgroundProgram): Launched {
  return launch(program, { detached: true, windowsHide: true });
}
