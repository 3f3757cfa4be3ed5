// The five states of drives and servers, told apart by shape and not by colour alone.
import { CircleCheck, CirclePause, CloudOff, RefreshCw, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

export type StateName = "fine" | "working" | "paused" | "offline" | "attention";

const SHAPES = {
  fine: CircleCheck,
  working: RefreshCw,
  paused: CirclePause,
  offline: CloudOff,
  attention: TriangleAlert,
};

/** Is decoration: the sentence beside it says the same. */
export function StateIcon({ state, size = 20 }: { state: StateName; size?: number }): ReactNode {
  const Shape = SHAPES[state];
  return <Shape className={`state ${state}`} size={size} aria-hidden="true" />;
}
