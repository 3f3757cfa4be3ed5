// A WAN link between two processes.
export { startEmulator } from "./emulator-process.ts";
export * from "./link-emulator.ts";
export { startEmulatorHere } from "./proxy-emulator.ts";
