// Runs a command once this process has died, however it died: a shell waits for the end of its pipe.
import { spawn } from "node:child_process";

/** A line says that nothing is to be done; the end of the pipe without one, that this process is gone. */
const GUARD_SCRIPT = 'trap "" HUP INT TERM; read -r line && exit; exec "$@"';
const DISPOSED = "disposed\n";

/** Nothing is run once what it returns is disposed of. The command is a path and its arguments. */
export function runAfterDeath(command: readonly string[]): Disposable {
  const guard = spawn("/bin/sh", ["-c", GUARD_SCRIPT, "sh", ...command], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  guard.on("error", () => undefined);
  guard.stdin.on("error", () => undefined);
  guard.unref();
  // A pipe of a child is a socket, which Node's types do not say.
  (guard.stdin as unknown as { unref(): void }).unref();
  return { [Symbol.dispose]: () => guard.stdin.end(DISPOSED) };
}
