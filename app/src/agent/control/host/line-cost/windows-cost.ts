// Windows' word on the line: the cost of the profile that leads to the internet, which PowerShell can ask for, seldom.
import { execFile } from "node:child_process";
import type { Clock } from "@runnel/shared/base";
import type { WatchCost } from "./line-cost.ts";

/** Nothing cheap tells of a change. */
const AGAIN_MS = 120_000;
const ANSWER_MS = 20_000;
const ANSWER_BYTES_MAX = 64 * 1024;
/** NetworkCostType of Windows.Networking.Connectivity: the line is paid by volume, or has only so much. */
const METERED = new Set(["Fixed", "Variable"]);
const SCRIPT =
  "[Windows.Networking.Connectivity.NetworkInformation,Windows.Networking.Connectivity,ContentType=WindowsRuntime]" +
  "::GetInternetConnectionProfile().GetConnectionCost().NetworkCostType";

/** `ask`: what PowerShell prints. */
export function windowsCost(clock: Clock, ask: () => Promise<string> = askPowerShell): WatchCost {
  return async (said) => {
    let isOver = false;
    let timer = clock.after(0, () => undefined);
    const turn = async (): Promise<void> => {
      const printed = await ask().catch(() => "");
      if (isOver) return;
      said(METERED.has(printed.trim()));
      timer = clock.after(AGAIN_MS, () => void turn());
    };
    await turn();
    return () => {
      isOver = true;
      timer.cancel();
    };
  };
}

function askPowerShell(): Promise<string> {
  const options = { timeout: ANSWER_MS, maxBuffer: ANSWER_BYTES_MAX, windowsHide: true };
  return new Promise((done, fail) => {
    execFile("powershell.exe", ["-NoProfile", "-NonInteractive", "-Command", SCRIPT], options, (error, stdout) =>
      error === null ? done(stdout) : fail(error),
    );
  });
}
