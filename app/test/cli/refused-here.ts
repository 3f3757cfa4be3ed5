// Runs a command in this process that is to be refused, and reads its answer as a person and a program do.
import { runCommandLine } from "../../src/cli/command-line.ts";

export interface Refusal {
  code: number;
  kind: string;
  sentence: string;
}

/**
 * Throws unless the answer to `--json` is one sentence, or two, on stderr and the same in one object on stdout. A
 * command that is not refused may go on for ever: its test has a deadline.
 */
export async function refusedHere(args: readonly string[]): Promise<Refusal> {
  const said = { stdout: "", stderr: "" };
  const into = (name: keyof typeof said) => ({
    write: (output: string | Uint8Array): void => void (said[name] += output.toString()),
  });
  const code = await runCommandLine([...args, "--json"], { stdout: into("stdout"), stderr: into("stderr") });
  const shown = `exit code ${code}, stdout: ${said.stdout}, stderr: ${said.stderr}`;
  const [, sentence] = /^(\S.*(?:[.]|: [^.]\S.*))\n$/.exec(said.stderr) ?? [];
  if (sentence === undefined) throw new Error(`There is no sentence on stderr. ${shown}`);
  const { error, ...more } = JSON.parse(said.stdout) as { error?: { kind: string; message: string } };
  if (error?.message !== sentence || Object.keys(more).length > 0)
    throw new Error(`The object says something else. ${shown}`);
  return { code, kind: error.kind, sentence };
}
