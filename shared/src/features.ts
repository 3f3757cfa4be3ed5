// Names of what one end of a connection can do beyond the number of its protocol: the field `features` of a hello, on
// the wire (rule W178) and in the control protocol. Something newer is used only where both ends have offered its name.
import { z } from "zod";
import { LIMITS } from "./limits.ts";

/** A name that is not known means nothing; a list that is left out has none. */
export const features = z
  .array(z.string().regex(new RegExp(`^[a-z0-9.-]{1,${LIMITS.featureCharacters}}$`)))
  .max(LIMITS.features)
  .default([]);
