// Sizes as a person types them.
import { RunnelError } from "@runnel/shared/base";

const UNITS = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 };
/** A petabyte. */
const BYTES_MAX = 1024 ** 5;

/** Bytes of "500M"; units are powers of 1024. @throws RunnelError Invalid. */
export function parseSize(typed: string): number {
  const [, digits, unit = ""] = /^(\d{1,16})([KMGT]?)$/i.exec(typed) ?? [];
  const bytes = Number(digits) * UNITS[unit.toUpperCase() as keyof typeof UNITS];
  if (bytes <= BYTES_MAX) return bytes;
  throw new RunnelError(
    "Invalid",
    "read the command",
    `"${typed}" is not a size. Write a number and K, M, G or T: 20G.`,
  );
}
