// Says what the parser of options found wrong, in the voice of the rest.
import { RunnelError } from "@runnel/shared/base";
import type { CommanderError } from "commander";

/** Sentences by commander's code; `what` is the name it quotes. */
const SENTENCES: Record<string, (what: string) => string> = {
  "commander.missingArgument": (what) => `${what.toUpperCase()} is missing.`,
  "commander.unknownOption": (what) => `There is no option ${what}.`,
  "commander.unknownCommand": (what) => `There is no verb ${what}.`,
  "commander.excessArguments": () => "There are too many arguments.",
  "commander.optionMissingArgument": (what) => `Option ${what.replace(/^-\w, /, "")} needs a value.`,
  "commander.missingMandatoryOptionValue": (what) => `Option ${what} is missing.`,
  "commander.conflictingOption": (what) => `Option ${what} does not go with another one that is given.`,
  "commander.invalidArgument": (what) => `Option ${what} does not take this value.`,
};

/** Finds the name of an argument, or of an option, what was typed for it, and what it may be. */
const WRONG_WORD = /value '(.*)' is invalid for argument '([^']+)'\. Allowed choices are (.+)\.$/s;
const WRONG_CHOICE = /option '([^']+)' argument '(.*)' is invalid\. Allowed choices are (.+)\.$/s;

export function usageError(error: CommanderError, args: readonly string[]): RunnelError {
  const what = /'([^']+)'/.exec(error.message)?.[1] ?? "";
  const [, word, argument = "", words] = WRONG_WORD.exec(error.message) ?? [];
  const [, option = "", value, choices] = WRONG_CHOICE.exec(error.message) ?? [];
  const wrongWord =
    words !== undefined
      ? `${argument.toUpperCase()} is one of: ${words}; not "${word}".`
      : choices !== undefined
        ? `Option ${option} is one of: ${choices}; not "${value}".`
        : undefined;
  const sentence = wrongWord ?? SENTENCES[error.code]?.(what) ?? "The command is not complete.";
  const [verb] = args;
  const isAboutVerb = error.code !== "commander.unknownCommand" && verb !== undefined && !verb.startsWith("-");
  const help = isAboutVerb ? `runnel ${verb} --help` : "runnel --help";
  return new RunnelError("Invalid", "read the command", `${sentence} Run ${help} to see how it is used.`, {
    cause: error,
  });
}
