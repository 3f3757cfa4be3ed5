// runnel login: makes this device known to a server, by an invite.
import { parseProxy, RunnelError } from "@runnel/shared";
import { LoggedIn, LoginRequest } from "../../agent/servers/login-schemas.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { readText } from "../../cli/host/text-file.ts";
import type { Output } from "../../cli/output.ts";
import { absolutePath, addVerb } from "../../cli/verb.ts";
import { notFromPage } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = { asks: LoginRequest, gives: LoggedIn };

/** No invite is longer. */
const CHARACTERS_MAX = 4096;

interface LoginOptions {
  file?: string;
  name?: string;
  proxy?: string;
  ca?: string;
}

export const login = agentVerb(schemas, {
  pageAsks: schemas.asks.extend({ caFile: notFromPage }),
  handle: (agent, request) => agent.deps.login(request),

  addCommand(program, output) {
    addVerb(program, "login", "Makes this device known to a server, by an invite from whoever runs it.", [
      "login",
      "login --file invite.txt",
    ])
      .argument(
        "[invite]",
        "in quotes; other users of this machine may see it. Left out, it is asked for, or read from standard input",
      )
      .option("--file <path>", "the file that the invite is in", absolutePath)
      .option("--name <name>", "what the server shall call this device (default: this machine's name)")
      .option("--proxy <url>", "http://HOST:PORT, or direct (default: HTTPS_PROXY and NO_PROXY of the agent)", proxyOf)
      .option("--ca <file>", "your company's authority in PEM form, besides those that the system knows", absolutePath)
      .action(async (typed: string | undefined, { file, name, proxy, ca: caFile }: LoginOptions) => {
        const invite = await inviteOf(typed, file, output);
        const result = await askAgent("login", schemas, { invite, name, proxy, caFile });
        output.result(result, () => [
          `The server knows this device as ${result.device}; it may ${result.isReadOnly ? "read" : "read and write"}.`,
          `Map the volume: runnel mount ${result.url} MOUNTPOINT`,
        ]);
      });
  },
});

/** @throws RunnelError Invalid */
function proxyOf(typed: string): string {
  if (typed !== "direct") parseProxy(typed);
  return typed;
}

/** @throws RunnelError Invalid when there is none, or two ways to it; what reading the file does. */
async function inviteOf(typed: string | undefined, file: string | undefined, output: Output): Promise<string> {
  if (typed !== undefined && file !== undefined)
    throw new RunnelError("Invalid", "log in", "Give the invite or the file that it is in, not both.");
  if (typed !== undefined) return typed;
  const read = file === undefined ? output.line("Invite: ", CHARACTERS_MAX) : readText(file, "The invite");
  const invite = (await read).trim();
  if (invite !== "") return invite;
  throw new RunnelError("Invalid", "log in", "There is no invite. Ask whoever runs the server for one: runnel invite.");
}
