// runnel login: makes this device known to a server, by an invite.
import type { Command } from "commander";
import { parseProxy } from "@runnel/shared";
import { withAgent } from "../agent-connection.ts";
import type { Output } from "../output.ts";
import { absolutePath, addVerb } from "../verb.ts";

interface LoginOptions {
  name?: string;
  proxy?: string;
  ca?: string;
}

export function addLogin(program: Command, output: Output): void {
  addVerb(program, "login", "Makes this device known to a server, by an invite from whoever runs it.", [
    "login 'runnel://files.example.org:7473/docs#…'",
  ])
    .argument("<invite>", "all of it, in quotes")
    .option("--name <name>", "what the server shall call this device (default: this machine's name)")
    .option("--proxy <url>", "http://HOST:PORT, or direct (default: HTTPS_PROXY and NO_PROXY of the agent)")
    .option("--ca <file>", "your company's authority in PEM form, besides those that the system knows")
    .action(async (invite: string, options: LoginOptions) => {
      const { name, proxy, ca } = options;
      if (proxy !== undefined && proxy !== "direct") parseProxy(proxy);
      const request = {
        verb: "login",
        invite,
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
