// Opens a file or folder of a drive with the program that the system has for it, for a page that cannot.
import { RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { openWithSystem } from "../../agent/control/host/system-opener.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `path`: in the drive, "" is the drive. `shows`: its folder is opened instead. */
  asks: z.object({ mountpoint: text, path: text, shows: z.boolean().optional() }),
  gives: z.object({ opened: text }),
};

/** Files that a system runs when they are opened: nobody who looks at a conflict wants that. */
const PROGRAM =
  /\.(?:app|bat|cmd|com|command|cpl|desktop|exe|hta|jar|js|jse|lnk|msi|msp|pif|ps1|reg|scf|scr|sh|url|vbe|vbs|wsf|wsh)$/i;

export const open = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent, { mountpoint, path, shows = false }) {
    const { settings } = await agent.mountAt("open", mountpoint);
    const parts = path.split("/");
    if (path !== "" && parts.some((part) => part === "" || part === "." || part === ".."))
      throw new RunnelError("Invalid", "open", `${path} is no path in a drive.`);
    const isFolder = shows || PROGRAM.test(path);
    const opened = agent.deps.folders.paths.onDrive(
      settings.mountpoint,
      (isFolder ? parts.slice(0, -1) : parts).join("/"),
    );
    const failure = await openWithSystem(opened, agent.deps.clock);
    if (failure === undefined) return { opened };
    throw new RunnelError("Unavailable", "open", `${opened} was not opened: ${failure}.`);
  },
});
