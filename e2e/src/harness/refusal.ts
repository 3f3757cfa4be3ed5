// A command that must be refused, as a person and a program see it: one sentence on stderr, one object on stdout, an
// exit code.
import type { RunResult } from "./run.ts";

export interface Refusal {
  code: number | null;
  kind: string;
  sentence: string;
}

/**
 * Reads the answer of a command with --json that failed. Throws unless that is one sentence on stderr and the same in
 * one object on stdout.
 */
export function refusalOf({ code, isOverdue, stdout, stderr }: RunResult): Refusal {
  const shown = `stdout: ${stdout}\nstderr: ${stderr}`;
  if (isOverdue) throw new Error(`The command was not refused: it still ran at its deadline.\n${shown}`);
  const [line = "", rest] = stderr.split("\n", 2);
  if (rest !== "" || stderr !== `${line}\n`) throw new Error(`There is not one line on stderr.\n${shown}`);
  // A sentence, or two; the last may end in a command to type.
  if (!/^\S.*([.]|: [^.]+)$/.test(line)) throw new Error(`That is no sentence.\n${shown}`);
  const { error, ...more } = JSON.parse(stdout) as { error?: { kind: string; message: string } };
  if (error?.message !== line || Object.keys(more).length > 0)
    throw new Error(`The object says something else.\n${shown}`);
  return { code, kind: error.kind, sentence: line };
}
