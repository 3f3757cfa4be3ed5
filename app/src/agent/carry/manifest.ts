// A manifest on a stick: versions whose chunks it carries [F222]. It says what may be worth bringing; the server alone
// says which version is current, and what its chunks are.
import { RunnelError, NODE_LIMIT } from "@runnel/shared";
import { z } from "zod";
import { STICK_LIMITS } from "@runnel/shared/supply";

const FORMAT = 1;

const Path = z
  .string()
  .max(STICK_LIMITS.pathCharacters)
  .refine((path) => path.split("/").every((name) => name !== "" && name !== "." && name !== ".."));

const CarriedVersion = z.tuple([
  /** node, seq, size in bytes, path in the volume when it was carried. */
  z.int().positive().max(NODE_LIMIT),
  z.int().positive(),
  z.int().nonnegative(),
  Path,
]);
export type CarriedVersion = z.infer<typeof CarriedVersion>;

const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  /** Epoch of the volume that nodes and versions are of. */
  epoch: z.string().regex(/^[0-9a-f]{32}$/),
  /** Name of the device that wrote it. */
  device: z.string().max(STICK_LIMITS.deviceCharacters),
  versions: z.array(CarriedVersion).max(STICK_LIMITS.manifestContents),
});
export type Manifest = z.infer<typeof Manifest>;

export function encodeManifest(manifest: Omit<Manifest, "format">): Uint8Array {
  return Buffer.from(`${JSON.stringify({ format: FORMAT, ...manifest })}\n`);
}

/** @throws RunnelError Corrupt where it is not as written, Version where a newer program wrote it. */
export function decodeManifest(bytes: Uint8Array): Manifest {
  if (bytes.length > STICK_LIMITS.manifestBytes) throw damaged("too long");
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw damaged("no JSON", error);
  }
  const format = z.object({ format: z.number() }).safeParse(value).data?.format ?? 0;
  if (format > FORMAT) {
    const sentence = `A manifest on the stick was written by a newer Runnel (format ${format}). Update this one.`;
    throw new RunnelError("Version", "read a manifest", sentence, { detail: { need: format } });
  }
  const checked = Manifest.safeParse(value);
  if (!checked.success) throw damaged("not as written", checked.error);
  return checked.data;
}

function damaged(why: string, cause?: unknown): RunnelError {
  return new RunnelError("Corrupt", "read a manifest", `A manifest on the stick is damaged: ${why}.`, { cause });
}
