// runnel console: the server that runs here, in a browser of this machine, without a password.
import type { Command } from "commander";
import { openInBrowser } from "../host/browser.ts";
import type { Output } from "../output.ts";
import { addVerb } from "../verb.ts";
import { dataFolder } from "./invite.ts";

export function addConsole(program: Command, output: Output): void {
  addVerb(program, "console", "Opens the console of the server that runs here, for whoever runs it.", [
    "console",
    "console --print",
  ])
    .option("--print", "print a link instead, which is good once and for a minute")
    .option("--data <dir>", "the server's data (default: in the agent's home)")
    .action(async (options: { print?: true; data?: string }) => {
      const { askServer } = await import("@runnel/server/admin");
      const way = options.print === true ? "link" : "file";
      const { url, opens } = await askServer(dataFolder(options.data), "console", { way });
      if (way === "link") {
        output.result({ page: { url, link: opens, isOpened: false } }, () => [opens]);
        return;
      }
      await openInBrowser(opens, { printing: "runnel console --print" });
      output.result({ page: { url, link: null, isOpened: true } }, () => [
        "The console opens in your browser. If it does not, print a link: runnel console --print",
      ]);
    });
}
