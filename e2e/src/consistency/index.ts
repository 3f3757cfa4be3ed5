// Agents and a server in one process, on simulated ground, from one seed; and the checker of what their programs saw.
export * from "./checker.ts";
export * from "./simulate.ts";
