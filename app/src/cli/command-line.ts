// Parses a command line, runs its verb, and turns what went wrong into one sentence and an exit code.
import { EXIT_CODE_OF_KIND, fromSystemError, isRunnelError, RunnelError } from "@runnel/shared";
import { Command, CommanderError } from "commander";
import { VERSION } from "../agent/version.ts";
import { AGENT_VERBS } from "../verbs/index.ts";
import type { AgentVerb } from "../verbs/verb.ts";
import { Output, type Sinks } from "./output.ts";
import { usageError } from "./usage-error.ts";
import { addAgent } from "./verbs/agent.ts";
import { addAudit } from "./verbs/audit.ts";
import { addCompletion } from "./verbs/completion.ts";
import { addConsole } from "./verbs/console.ts";
import { addDevices } from "./verbs/devices.ts";
import { addInvite } from "./verbs/invite.ts";
import { addInvites } from "./verbs/invites.ts";
import { addRevoke } from "./verbs/revoke.ts";
import { addRight } from "./verbs/right.ts";
import { addServe } from "./verbs/serve.ts";

/** Verbs in the order of the help. */
const VERBS = [
  addServe,
  addConsole,
  addInvite,
  addInvites,
  addDevices,
  addRight,
  addRevoke,
  addAudit,
  ...Object.values<AgentVerb>(AGENT_VERBS).map(
    (verb) => (program: Command, output: Output) => verb.addCommand?.(program, output),
  ),
  addCompletion,
  addAgent,
];

export function buildProgram(output: Output): Command {
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
  for (const add of VERBS) add(program, output);
  return program;
}

export async function runCommandLine(args: readonly string[], sinks: Sinks = process): Promise<number> {
  const output = new Output(args.includes("--json"), sinks);
  try {
    if (args.length === 0)
      throw new RunnelError("Invalid", "read the command", "No verb was given. Run runnel --help to see them.");
    await buildProgram(output).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    const failure =
      error instanceof CommanderError ? usageError(error, args) : fromSystemError(error, "run the command");
    output.fail(failure);
    if (!isRunnelError(error) && !(error instanceof CommanderError)) output.explain(error);
    return EXIT_CODE_OF_KIND[failure.kind];
  }
}
