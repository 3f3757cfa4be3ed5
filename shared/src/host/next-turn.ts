// Turns of the event loop that something was put off to. A simulated clock lets them pass before time goes on.

let pending = 0;

/** Runs in a later turn of the event loop, after all promises that can settle before; in the order of the calls. */
export function nextTurn(act: () => void): void {
  pending += 1;
  setImmediate(() => {
    pending -= 1;
    act();
  });
}

/** Counts the turns that have been put off and have not run yet. */
export function pendingTurns(): number {
  return pending;
}
