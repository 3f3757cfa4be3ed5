// Forms that several verbs of the console share.
import { label } from "@runnel/shared";
import { z } from "zod";
import { ROLES } from "../../auth/people-file.ts";
import { CONSOLE_LIMITS } from "../console-limits.ts";

export const role = z.enum(ROLES);

/** Name of a person. */
export const personName = label.refine((name) => name.trim() === name && name !== "", "not empty, no blank at an end");

/** A password that is chosen. */
export const newPassword = z.string().min(CONSOLE_LIMITS.passwordMin).max(CONSOLE_LIMITS.passwordMax);

/** A password that is said to come in. */
export const saidPassword = z.string().max(CONSOLE_LIMITS.passwordMax);

export const person = z.object({
  name: z.string(),
  role,
  hasPassword: z.boolean(),
  createdMs: z.number(),
  /** Count of devices of this name that are not revoked. */
  devices: z.int(),
  /** True while a device is connected, or the person signed in. */
  isOn: z.boolean(),
});

export const nothing = z.object({});
