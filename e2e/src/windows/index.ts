// Windows in tests: the product as it is installed there, under Wine.
export * from "./remote-stand-in.ts";
export * from "./windows-machine.ts";
