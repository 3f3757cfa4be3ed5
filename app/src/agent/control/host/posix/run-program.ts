// Runs a program of the system that may never end: one that looks at a mount waits for whoever answers the mount.
import { spawn } from "node:child_process";
import type { Clock } from "@runnel/shared/base";

export interface Ran {
  /** Exit code; undefined when the program could not run, was ended by a signal, or was given up. */
  code: number | undefined;
  /** Text that it wrote to its output; "" unless it was asked for. */
  text: string;
}

/** Gives up on the program at the deadline, and when it writes more than is wanted: then it is killed. */
export function runProgram(
  clock: Clock,
  [program = "", ...args]: readonly string[],
  { deadlineMs, textBytesMax }: { deadlineMs: number; textBytesMax?: number },
): Promise<Ran> {
  return new Promise((done) => {
    const isRead = textBytesMax !== undefined;
    const child = spawn(program, args, { cwd: "/", stdio: ["ignore", isRead ? "pipe" : "ignore", "ignore"] });
    const bytes: Buffer[] = [];
    let size = 0;
    const giveUp = (): void => {
      child.kill("SIGKILL");
      // Killed or not (it may sit in the kernel), nobody waits for it any longer.
      child.stdout?.destroy();
      child.unref();
      end(null);
    };
    const timer = clock.after(deadlineMs, giveUp);
    const end = (code: number | null): void => {
      timer.cancel();
      done({ code: code ?? undefined, text: code === null ? "" : Buffer.concat(bytes).toString("utf8") });
    };
    child.stdout?.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > (textBytesMax ?? 0)) giveUp();
      else bytes.push(chunk);
    });
    child.once("error", () => end(null));
    child.once(isRead ? "close" : "exit", end);
  });
}
