// The line cost of the system that this process runs on. macOS has no word for it that a program without a framework of
// its own can ask for: a person says it there.
import type { Clock } from "@runnel/shared/base";
import { type LineCost, SharedLineCost, type WatchCost } from "./line-cost.ts";
import { networkManagerCost } from "./linux-cost.ts";
import { windowsCost } from "./windows-cost.ts";

export function thisLineCost(clock: Clock): LineCost {
  return new SharedLineCost(watchOf(process.platform, clock));
}

function watchOf(platform: NodeJS.Platform, clock: Clock): WatchCost {
  if (platform === "linux") return networkManagerCost(clock);
  if (platform === "win32") return windowsCost(clock);
  return () => Promise.resolve(() => undefined);
}
