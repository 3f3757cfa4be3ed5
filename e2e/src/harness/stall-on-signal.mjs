// Loaded into a process before its own code (node --import): at SIGUSR2 its event loop stands still for a while, as
// under a long computation; its other threads go on.
const STALL_MS = 5000;

process.on("SIGUSR2", () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
});
