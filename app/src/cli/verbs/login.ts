// runnel login: makes this device known to a server, by an invite.
import type { Command } from "commander";
import { RunnelError, parseProxy } from "@runnel/shared";
import { withAgent } from "../agent-connection.ts";
import { readText } from "../host/text-file.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

/** No invite is longer. */
const CHARACTERS_MAX = 4096;

interface LoginOptions {
  file?: string;
  name?: string;
  proxy?: string;
  ca?: string;
}

export function addLogin(program: Command, output: Output): void {
  addVerb(program, "login", "Makes this device known to a server, by an invite from whoever runs it.", [
    "login",
    "login --file invite.txt",
  ])
    .argument(
      "[invite]",
      "in quotes; other users of this machine may see it. Left out, it is asked for, or read from standard input",
    )
    .option("--file <path>", "the file that the invite is in")
    .option("--name <name>", "what the server shall call this device (default: this machine's name)")
    .option("--proxy <url>", "http://HOST:PORT, or direct (default: HTTPS_PROXY and NO_PROXY of the agent)")
    .option("--ca <file>", "your company's authority in PEM form, besides those that the system knows")
    .action(async (typed: string | undefined, options: LoginOptions) => {
      const { name, proxy, ca } = options;
      if (proxy !== undefined && proxy !== "direct") parseProxy(proxy);
      const request = {
        verb: "login",
        invite: await inviteOf(typed, options.file, output),
        ...(name === undefined ? {} : { name }),
        ...(proxy === undefined ? {} : { proxy }),
        ...(ca === undefined ? {} : { caFile: absolutePath(ca) }),
      } as const;
      const result = await withAgent((client) => client.ask<"login">(request));
      output.result(result, () => [
        `The server knows this device as ${result.device}; it may ${result.isReadOnly ? "read" : "read and write"}.`,
        `Map the volume: runnel mount ${result.url} MOUNTPOINT`,
      ]);
    });
}

/** @throws RunnelError Invalid when there is none, or two ways to it; what reading the file does. */
async function inviteOf(typed: string | undefined, file: string | undefined, output: Output): Promise<string> {
  if (typed !== undefined && file !== undefined)
    throw new RunnelError("Invalid", "log in", "Give the invite or the file that it is in, not both.");
  if (typed !== undefined) return typed;
  const text =
    file === undefined ? output.line("Invite: ", CHARACTERS_MAX) : readText(absolutePath(file), "The invite");
  const invite = (await text).trim();
  if (invite !== "") return invite;
  throw new RunnelError("Invalid", "log in", "There is no invite. Ask whoever runs the server for one: runnel invite.");
}
