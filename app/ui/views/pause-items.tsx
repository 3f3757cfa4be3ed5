// Menu items that pause a drive, or what a row of a folder shows, and that resume it.
import { Pause, Play } from "lucide-react";
import type { MenuItem } from "@runnel/shared/ui/widgets/menu.tsx";
import { PAUSE_ENDS, endOfPause } from "../../src/main/pause-ends.ts";
import { say } from "../agent.ts";

/** `pause`: until when (ms of the wall clock); null: until a person resumes it. */
export function pauseItems(pause: (untilMs: number | null) => void): MenuItem[] {
  return PAUSE_ENDS.map((end) => ({
    label: say("drivePause", { end }),
    icon: <Pause size={16} aria-hidden="true" />,
    choose: () => pause(endOfPause(end, Date.now())),
  }));
}

export function resumeItem(resume: () => void, isDisabled = false): MenuItem {
  return { label: say("driveResume"), icon: <Play size={16} aria-hidden="true" />, isDisabled, choose: resume };
}
