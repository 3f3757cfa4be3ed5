// Acts on what goes on now.
import { z } from "zod";
import { consoleVerb } from "../console-verb.ts";

/** Ends a connection; its client may connect again. */
export const disconnect = consoleVerb(
  { asks: z.object({ connection: z.string().max(20) }), gives: z.object({ connection: z.string() }) },
  {
    role: "admin",
    isUse: true,
    async handle({ engines }, { connection }, { actor }) {
      await engines.live.disconnect(actor, connection);
      return { connection };
    },
  },
);
