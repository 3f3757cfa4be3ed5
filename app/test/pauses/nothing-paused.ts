// Stands for the pauses of a drive in which nothing is paused.
import type { Passages } from "../../src/agent/pauses/passages.ts";

export const nothingPaused: Passages = {
  isEmpty: true,
  isPaused: () => false,
  why: () => undefined,
  enter: () => ({ signal: new AbortController().signal, [Symbol.dispose]: () => undefined }),
};
