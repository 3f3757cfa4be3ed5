// Tests of what a program on the server does in a burst.
export * from "./burst-place.ts";
