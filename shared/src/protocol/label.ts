// Names of people and machines, as others read them in lists.
import { z } from "zod";
import { LIMITS } from "../limits.ts";

/**
 * Without characters that nobody sees, or that turn what stands around them about: two names that look alike are alike.
 */
export const label = z
  .string()
  .max(LIMITS.deviceName)
  .regex(/^[^\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]*$/u);
