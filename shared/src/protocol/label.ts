// Names of people and machines, as others read them in lists.
import { z } from "zod";
import { LIMITS } from "../limits.ts";

/**
 * Text of at most so many characters, without those that nobody sees, or that turn what stands around them about: two
 * names that look alike are alike.
 */
export const visibleText = (charactersMax: number): z.ZodString =>
  z
    .string()
    .max(charactersMax)
    .regex(/^[^\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}]*$/u);

export const label = visibleText(LIMITS.deviceName);
