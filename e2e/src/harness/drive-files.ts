// Work of a program with a file of a drive: in a child process, as whatever touches a mount.
import { join } from "node:path";
import { onMount, run } from "./run.ts";

/** Fails with the program's words when it cannot be saved. */
export function saveTo(drive: string, name: string, text: string): Promise<string> {
  return onMount('printf %s "$2" > "$1"', [join(drive, name), text]);
}

/** Saves so many zeros and returns what the program hears: an error's words, "" for success. */
export async function trySavingTo(drive: string, name: string, bytes: number): Promise<string> {
  const script = 'head -c "$2" /dev/zero > "$1"';
  const { stderr } = await run("bash", ["-c", script, "bash", join(drive, name), String(bytes)]);
  return stderr;
}

export function readFrom(drive: string, name: string): Promise<string> {
  return onMount('cat "$1"', [join(drive, name)]);
}
