// settings: how the server was started. For admins; they are changed by who runs it.
import { z } from "zod";
import { consoleVerb } from "../console-verb.ts";
import { nothing } from "./schemas.ts";

export const settings = consoleVerb(
  {
    asks: nothing,
    gives: z.object({
      name: z.string(),
      version: z.string(),
      /** Place where it listens, and its URL. */
      listen: z.string(),
      url: z.string(),
      /** Hosts under which browsers find the console. */
      addresses: z.array(z.string()),
      /** Fingerprint of the key, which invites carry; null when an authority vouches for it. */
      fingerprint: z.string().nullable(),
      dataFolder: z.string(),
      startedMs: z.number(),
    }),
  },
  {
    role: "admin",
    async handle({ hostname, facts, server, security, startedMs }, _request, { actor }) {
      security.audit.note({ who: actor, act: "settings", result: "done" });
      const { version, listen, addresses, dataFolder } = facts;
      const { fingerprint = null } = security;
      return {
        name: hostname,
        version,
        listen,
        url: server.url,
        addresses: [...addresses],
        fingerprint,
        dataFolder,
        startedMs,
      };
    },
  },
);
