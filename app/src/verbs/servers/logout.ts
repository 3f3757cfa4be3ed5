// runnel logout: forgets a server.
import { addressOf, placeOf, RunnelError } from "@runnel/shared/base";
import { z } from "zod";
import { quoted } from "../../agent/control/quoted.ts";
import { LoggedOut } from "../../agent/servers/login-schemas.ts";
import { serverPlace } from "../../agent/servers/server-place.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { addVerb } from "../../cli/verb.ts";
import { text } from "../schemas.ts";
import { agentVerb } from "../verb.ts";

const schemas = {
  /** `server`: HOST:PORT, or the URL of a volume there. */
  asks: z.object({ server: text }),
  gives: LoggedOut,
};

export const logout = agentVerb(schemas, {
  pageAsks: schemas.asks,
  /** A drive could not connect again without what is forgotten. */
  async handle(agent, { server }) {
    const place = serverPlace(server);
    const drive = agent.drives.find(({ url }) => placeOf(addressOf(url)) === place && addressOf(url).isSecure);
    if (drive === undefined) return agent.deps.logout(place);
    const next = `Unmount it first: runnel unmount ${quoted(drive.mountpoint)}`;
    throw new RunnelError("Busy", "logout", `${drive.mountpoint} is a drive of ${place}. ${next}`);
  },

  addCommand(program, output) {
    addVerb(program, "logout", "Forgets a server: its key, and this device's token for it.", [
      "logout files.example.org:7473",
    ])
      .argument("<server>", "HOST:PORT, or the address of a volume there")
      .action(async (server: string) => {
        const result = await askAgent("logout", schemas, { server });
        output.result(result, () => [
          `Forgot ${result.server}, which knows this device as ${result.device}. To come back you need a new invite.`,
          ...(result.isTokenGone ? [] : ["The keyring did not open: it still has what this device was known by."]),
          `The server lets nobody in by what was forgotten once it is told so there: runnel revoke ${result.device}`,
        ]);
      });
  },
});
