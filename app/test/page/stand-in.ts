// A stand-in for the program that opens a browser: it writes down what it is given, and what every process shows to
// others at that moment.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface StandIn {
  /** Variables with which it is found. */
  env: NodeJS.ProcessEnv;
  /** Notes of what it was given; undefined before it was started. */
  readonly seen: { args: string[]; environment: string; processes: string; page: string } | undefined;
}

/** `ending` is what its shell does at the end. */
export function standInBrowser(folder: string, ending = "exit 0"): StandIn {
  mkdirSync(folder, { recursive: true });
  const script = `#!/bin/sh
cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' > '${folder}/processes'
tr '\\0' '\\n' < /proc/$$/environ > '${folder}/environment'
cat "$1" > '${folder}/page'
tr '\\0' '\\n' < /proc/$$/cmdline > '${folder}/args'
${ending}
`;
  writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    env: { PATH: `${folder}:${process.env["PATH"]}` },
    get seen() {
      if (!existsSync(join(folder, "args"))) return undefined;
      // The first two are the shell and the script.
      const args = read("args").trimEnd().split("\n").slice(2);
      return { args, environment: read("environment"), processes: read("processes"), page: read("page") };
    },
  };
}
