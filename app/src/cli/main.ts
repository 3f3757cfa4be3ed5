// The command line: `runnel VERB OBJECT`. Runs one command and leaves its exit code; a second Ctrl-C is not held up by
// anything.
import { runCommandLine } from "./command-line.ts";

// A reader that has seen enough (`| head`) ends the command, and that is no failure.
process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2));
