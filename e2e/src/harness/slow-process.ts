// A process that gets a share of a processor, as on a machine where others have the rest.

/** It runs for its share of each, in one piece. */
const PERIOD_MS = 100;

/** `share`: of the time, above 0 and below 1. The caller ends it, before the process ends. */
export function slowedDown(pid: number, share: number): { end(): void } {
  let timer: NodeJS.Timeout;
  const goOn = (): void => {
    process.kill(pid, "SIGCONT");
    timer = setTimeout(stop, PERIOD_MS * share);
  };
  const stop = (): void => {
    process.kill(pid, "SIGSTOP");
    timer = setTimeout(goOn, PERIOD_MS * (1 - share));
  };
  stop();
  return {
    end: () => {
      clearTimeout(timer);
      process.kill(pid, "SIGCONT");
    },
  };
}
