// Windows in tests: the product as it is installed there, under Wine.
export * from "./windows-machine.ts";
