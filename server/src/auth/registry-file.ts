// The file of devices and invites (F91): it keeps digests of tokens and secrets, never these themselves.
import type { DiskRoot } from "@runnel/shared";
import { RunnelError, readWhole, replaceWhole } from "@runnel/shared";
import { z } from "zod";

export const REGISTRY_FILE = "access.json";
const FORMAT = 1;

const digest = z.string().regex(/^[0-9a-f]{64}$/);
const right = z.enum(["read", "write"]);
const grant = z.object({ volume: z.string(), right });

const device = z.object({
  id: z.string(),
  /** Name of the machine. */
  name: z.string(),
  /** Whom the invite was for; "" when that was not said. */
  person: z.string(),
  tokenDigest: digest,
  grants: z.array(grant),
  createdMs: z.number(),
  revokedMs: z.number().optional(),
  /** Time at which it was connected last, as far as that was written down. */
  seenMs: z.number().optional(),
});

const invite = z.object({
  secretDigest: digest,
  volume: z.string(),
  right,
  person: z.string(),
  untilMs: z.number(),
  /** The device that used it. */
  usedBy: z.string().optional(),
});

const contents = z.object({ format: z.literal(FORMAT), devices: z.array(device), invites: z.array(invite) });

export type Right = z.output<typeof right>;
export type Grant = z.output<typeof grant>;
export type Device = z.output<typeof device>;
export type Invite = z.output<typeof invite>;
export interface RegistryRows {
  devices: Device[];
  invites: Invite[];
}

/** @throws RunnelError Version for a newer format; Corrupt: nobody is let in or locked out by a damaged file. */
export async function readRegistry(root: DiskRoot): Promise<RegistryRows> {
  const text = await readWhole(root, REGISTRY_FILE);
  if (text === undefined) return { devices: [], invites: [] };
  const value = parse(text);
  const { format } = z
    .object({ format: z.number().catch(0) })
    .catch({ format: 0 })
    .parse(value);
  if (format > FORMAT) {
    const sentence = `${REGISTRY_FILE} in ${root.path} was written by a newer Runnel (format ${format}). Update this one.`;
    throw new RunnelError("Version", "serve", sentence, { detail: { need: format } });
  }
  const checked = contents.safeParse(value);
  if (checked.success) return checked.data;
  const sentence = `${REGISTRY_FILE} in ${root.path} is damaged. Put it back from a backup, or remove it and invite everyone anew.`;
  throw new RunnelError("Corrupt", "serve", sentence, { cause: checked.error });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Durable when it resolves. */
export function writeRegistry(root: DiskRoot, { devices, invites }: RegistryRows): Promise<void> {
  return replaceWhole(root, REGISTRY_FILE, `${JSON.stringify({ format: FORMAT, devices, invites }, undefined, 1)}\n`);
}
