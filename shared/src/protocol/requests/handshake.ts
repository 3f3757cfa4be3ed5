// Requests by which a connection says whose it is.
import { z } from "zod";
import { features } from "../../features.ts";
import { LIMITS } from "../../limits.ts";
import { token } from "../fields.ts";
import { label, visibleText } from "../label.ts";
import { count } from "../numbers.ts";
import { defineRequest } from "./definition.ts";

export const PROTOCOL_VERSION = 1;

/** Features beyond the version's number, which both ends offer (W178). */
export const PROTOCOL_FEATURES: readonly string[] = [
  "write-lease",
  "conflicts",
  "colleagues",
  "fixed-chunks",
  "recipes-only",
];

/** Feature of a server that cuts writes into chunks of one size where it is told to (W211). */
export const FIXED_CHUNKS_FEATURE = "fixed-chunks";

/** Feature of a server whose findGet tells recipes alone (W34). */
export const RECIPES_ONLY_FEATURE = "recipes-only";

/** Feature of a server that takes what it lacks from folders beside its volumes, too (W210). */
export const SUPPLY_FEATURE = "supply";

/** Name that an end calls itself: others see it when they wait for it. */
const software = visibleText(200);

export const HANDSHAKE_REQUESTS = {
  hello: defineRequest({
    right: "none",
    request: z.object({
      protocol: count,
      software,
      token: token.optional(),
      proof: token.optional(),
      features,
    }),
    result: z.object({ protocol: count, software, termMs: count, features }),
    sample: () => ({ protocol: PROTOCOL_VERSION, software: "sample" }),
  }),
  join: defineRequest({
    right: "none",
    request: z.object({
      /** Secret of an invite. */
      secret: z.string().regex(/^[\w-]{22}$/),
      /** The client's from now on: the same again when the answer was lost. */
      token,
      /** Name of the machine, for people. */
      name: label.min(1),
    }),
    result: z.object({
      device: z.string().max(LIMITS.deviceName),
      volume: z.string().max(LIMITS.nameBytes),
      isReadOnly: z.boolean(),
    }),
    sample: () => ({ secret: "s".repeat(22), token: "t".repeat(43), name: "sample" }),
  }),
};
