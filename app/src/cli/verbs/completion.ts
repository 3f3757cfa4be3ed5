// runnel completion: what a shell has to run so that Tab completes verbs and options.
import { type Command, Argument } from "commander";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";

interface VerbWords {
  name: string;
  description: string;
  options: { flag: string; description: string }[];
}

const SCRIPTS: Record<string, (verbs: readonly VerbWords[]) => string[]> = { bash, zsh, fish };

export function addCompletion(program: Command, output: Output): void {
  addVerb(program, "completion", "Prints a script that lets a shell complete verbs and options.", [
    "completion bash >> ~/.bashrc",
    "completion fish > ~/.config/fish/completions/runnel.fish",
  ])
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(SCRIPTS)))
    .action((shell: string) => {
      const script = SCRIPTS[shell]?.(wordsOf(program)) ?? [];
      output.result({ shell, script: script.join("\n") }, () => script);
    });
}

/** The verbs that the help shows. */
function wordsOf(program: Command): VerbWords[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((verb) => ({
    name: verb.name(),
    description: verb.description(),
    options: help
      .visibleOptions(verb)
      .map((option) => ({ flag: option.long ?? "", description: option.description.replaceAll("\n", " ") })),
  }));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function flagsOf(verb: VerbWords): string {
  return verb.options.map((option) => option.flag).join(" ");
}

function bash(verbs: readonly VerbWords[]): string[] {
  return [
    "_runnel() {",
    '  local word="${COMP_WORDS[COMP_CWORD]}" words=""',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    words="${verbs.map((verb) => verb.name).join(" ")} --help --version"`,
    '  else case "${COMP_WORDS[1]}" in',
    ...verbs.map((verb) => `    ${verb.name}) words="${flagsOf(verb)}" ;;`),
    "  esac; fi",
    '  if [ "$COMP_CWORD" -eq 1 ] || [ "${word:0:1}" = "-" ]; then',
    '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
    "  fi",
    "}",
    "complete -o default -F _runnel runnel",
  ];
}

function zsh(verbs: readonly VerbWords[]): string[] {
  const described = verbs.map((verb) => quote(`${verb.name}:${verb.description}`)).join(" ");
  return [
    "#compdef runnel",
    "_runnel() {",
    `  local -a verbs=(${described})`,
    "  if (( CURRENT == 2 )); then _describe verb verbs; return; fi",
    '  case "${words[2]}" in',
    ...verbs.map((verb) => `    ${verb.name}) [[ "$PREFIX" == -* ]] && compadd -- ${flagsOf(verb)} || _files ;;`),
    "  esac",
    "}",
    "compdef _runnel runnel",
  ];
}

function fish(verbs: readonly VerbWords[]): string[] {
  return verbs.flatMap((verb) => [
    `complete -c runnel -n __fish_use_subcommand -f -a ${verb.name} -d ${quote(verb.description)}`,
    ...verb.options.map(
      (option) =>
        `complete -c runnel -n ${quote(`__fish_seen_subcommand_from ${verb.name}`)} -l ${option.flag.slice(2)} -d ${quote(option.description)}`,
    ),
  ]);
}
