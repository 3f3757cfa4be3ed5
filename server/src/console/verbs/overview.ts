// The overview: how the server stands, in one look, for admins.
import { z } from "zod";
import { Overview } from "../../live/rows.ts";
import { consoleVerb } from "../console-verb.ts";
import { nothing } from "./schemas.ts";

export const overview = consoleVerb(
  { asks: nothing, gives: Overview.extend({ people: z.number() }) },
  {
    role: "admin",
    async handle({ engines, people }) {
      return { ...(await engines.overview.overview()), people: people.list().length };
    },
  },
);
