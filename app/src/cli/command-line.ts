// Parses a command line, runs its verb, and turns what went wrong into one sentence and an exit code.
import { EXIT_CODE_OF_KIND, fromSystemError, isRunnelError, RunnelError } from "@runnel/shared/base";
import { Command, CommanderError } from "commander";
import { VERSION } from "../agent/version.ts";
import { COMMANDS } from "./commands.ts";
import { Output, type Sinks } from "./output.ts";
import { usageError } from "./usage-error.ts";
/** Needs all others, for the words of them. */
const COMPLETION = "completion";

/** @param names of the commands to load, in the order of the help; left out: all. */
export async function buildProgram(output: Output, names: readonly string[] = Object.keys(COMMANDS)): Promise<Command> {
  const program = new Command("runnel")
    .description("Maps folders of a server as drives; only the chunks that the other side lacks cross the wire.")
    .usage("VERB …")
    .version(VERSION, "--version", "print the version")
    .helpOption("--help", "print this help")
    .helpCommand(false)
    .addHelpText("before", "Example:\n  runnel mount ws://127.0.0.1:7473/docs ~/Docs\n")
    .addHelpText(
      "after",
      "\nEvery verb has --help and --json. Exit codes: 0 done, 1 failed, 2 used wrongly,\n3 cannot reach the server, 4 refused.",
    );
  // Before the verbs, which take these settings over when they are added.
  program
    .enablePositionalOptions()
    .configureHelp({ helpWidth: 80, subcommandTerm: (verb) => verb.name() })
    .configureOutput({ writeOut: (text) => output.print(text), writeErr: () => undefined })
    .exitOverride();
  const loaded = await Promise.all(names.map((name) => COMMANDS[name]?.()));
  for (const add of loaded) add?.(program, output);
  return program;
}

export async function runCommandLine(args: readonly string[], sinks: Sinks = process): Promise<number> {
  const output = new Output(args.includes("--json"), sinks);
  try {
    if (args.length === 0)
      throw new RunnelError("Invalid", "read the command", "No verb was given. Run runnel --help to see them.");
    const [name = ""] = args;
    const isOne = Object.hasOwn(COMMANDS, name) && name !== COMPLETION;
    const program = await buildProgram(output, isOne ? [name] : undefined);
    await program.parseAsync(args, { from: "user" });
    return output.exitCode;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const failure =
      error instanceof CommanderError ? usageError(error, args) : fromSystemError(error, "run the command");
    output.fail(failure);
    if (!isRunnelError(error) && !(error instanceof CommanderError)) output.explain(error);
    return EXIT_CODE_OF_KIND[failure.kind];
  }
}
