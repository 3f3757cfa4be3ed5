// runnel ui: a page in the browser that shows what the agent does.
import { z } from "zod";
import { askAgent } from "../cli/agent-connection.ts";
import { openInBrowser } from "../cli/host/browser.ts";
import { addVerb } from "../cli/verb.ts";
import { text } from "./schemas.ts";
import { agentVerb } from "./verb.ts";

export const openPageSchemas = {
  /** `way`: the agent writes a file for a browser, or makes a link for a person. Both are good once, for a minute. */
  asks: z.object({ way: z.enum(["file", "link"]) }),
  /** `opens`: path of the file, or the link. */
  gives: z.object({ url: text, opens: text }),
};

export const openPage = agentVerb(openPageSchemas, {
  handle: (agent, { way }) => agent.deps.pages.open(way),

  addCommand(program, output) {
    addVerb(program, "ui", "Opens Runnel in your browser: the drives, and what they do.", ["ui", "ui --print"])
      .option("--print", "print a link instead, which is good once and for a minute")
      .action(async (options: { print?: true }) => {
        const way = options.print === true ? "link" : "file";
        const { url, opens } = await askAgent("openPage", openPageSchemas, { way });
        if (way === "link") {
          output.result({ page: { url, link: opens, isOpened: false } }, () => [opens]);
          return;
        }
        await openInBrowser(opens, { printing: "runnel ui --print" });
        output.result({ page: { url, link: null, isOpened: true } }, () => [
          "Runnel opens in your browser. If it does not, print a link: runnel ui --print",
        ]);
      });
  },
});
