// Signals that a program handles do not make its calls fail, as on a local disk; one that ends it is heard also after
// them.
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { SilentPlace, endBy, waitsInKernel } from "../src/deadlines/index.ts";
import { onMount } from "../src/harness/index.ts";

/** A second is promised; the rest is for a loaded machine. */
const GONE_MS = 1_000 + 1_500;

/** Changes names with alarms, by the C library itself: Python would try again. Says what failed. */
const ALARMED = `
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[3]), float(sys.argv[3]))
os.chdir(sys.argv[1])
for i in range(int(sys.argv[2])):
    name, other = b"d%d" % i, b"e%d" % i
    for what, done in (("mkdir", lambda: libc.mkdir(name, 0o755)), ("chmod", lambda: libc.chmod(name, 0o700)),
                       ("rename", lambda: libc.rename(name, other)), ("rmdir", lambda: libc.rmdir(other))):
        if done() != 0: print(what, os.strerror(ctypes.get_errno()), flush=True)
signal.setitimer(signal.ITIMER_REAL, 0)
`;

describe("a program that handles signals", () => {
  let place: SilentPlace;
  beforeEach(async () => {
    place = new SilentPlace();
    await place.start();
  }, 60_000);
  afterEach(() => place.sandbox.cleanup(), 120_000);

  test("meets no EINTR", async () => {
    await place.link.setShape({ rttMs: 30 });
    expect(await onMount('python3 -c "$2" "$1" 20 0.004', [place.drive, ALARMED], { deadlineMs: 60_000 })).toBe("");
  }, 90_000);

  test("ends at once when it is killed, whatever signals came before", async () => {
    await place.link.blackHole();
    const program = place.program("python3", "-c", ALARMED, place.drive, "1", "0.3");
    await waitsInKernel(program);
    expect(await endBy(program, "SIGKILL")).toBeLessThan(GONE_MS);
  }, 90_000);
});
