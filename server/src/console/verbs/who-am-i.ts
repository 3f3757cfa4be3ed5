// whoAmI: who is signed in on this page; also what a page asks while a person uses it, so that the session goes on.
import { z } from "zod";
import { consoleVerb } from "../console-verb.ts";
import { nothing, role } from "./schemas.ts";

const schemas = {
  asks: nothing,
  gives: z.object({
    /** "" when it was opened over the server's socket, without a password. */
    name: z.string(),
    role,
    hasPassword: z.boolean(),
    /** The console was set up: there is an admin with a password. */
    isSetUp: z.boolean(),
    /** Name of the server. */
    server: z.string(),
    version: z.string(),
    /** Id of the session, as `sessions` lists it. */
    session: z.string(),
  }),
};

export const whoAmI = consoleVerb(schemas, {
  role: "user",
  isUse: true,
  async handle({ people, hostname, facts }, _request, { name, role: own, session }) {
    return {
      name,
      role: own,
      hasPassword: people.find(name)?.password !== undefined,
      isSetUp: people.hasAdmin,
      server: hostname,
      version: facts.version,
      session: session.id,
    };
  },
});
