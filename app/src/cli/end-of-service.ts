// The end of a command that serves until it is told to stop: by a signal, or by the end of the program that started it.

const EXIT_CODE_SECOND_SIGNAL = 1;

/**
 * Resolves at the first signal, or when the program that started this one with a channel is gone. A second signal ends
 * the process.
 */
export function endOfService(): Promise<void> {
  return new Promise((done) => {
    let isAsked = false;
    const ask = (): void => {
      if (isAsked) process.exit(EXIT_CODE_SECOND_SIGNAL);
      isAsked = true;
      if (process.connected) process.disconnect();
      done();
    };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, ask);
    process.once("disconnect", () => {
      if (!isAsked) ask();
    });
  });
}
