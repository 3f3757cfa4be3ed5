// runnel servers: the servers that know this device.
import { z } from "zod";
import { KnownPlace } from "../../agent/servers/login-schemas.ts";
import { askAgent } from "../../cli/agent-connection.ts";
import { addVerb } from "../../cli/verb.ts";
import { agentVerb } from "../verb.ts";

const schemas = { asks: z.object({}), gives: z.object({ servers: z.array(KnownPlace) }) };

export const servers = agentVerb(schemas, {
  pageAsks: schemas.asks,
  async handle(agent) {
    return { servers: await agent.deps.servers() };
  },

  addCommand(program, output) {
    addVerb(program, "servers", "Shows the servers that know this device.", ["servers"]).action(async () => {
      const result = await askAgent("servers", schemas, {});
      output.result(result, () =>
        result.servers.length === 0
          ? ["No server knows this device. With an invite: runnel login"]
          : result.servers.map(({ server, device, volumes }) => {
              const named = volumes.map(({ name, isReadOnly }) => (isReadOnly ? `${name} (to read)` : name));
              return `${server} knows this device as ${device}: ${named.join(", ")}`;
            }),
      );
    });
  },
});
