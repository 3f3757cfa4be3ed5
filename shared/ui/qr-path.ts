// QR codes as shapes: a path of one square for each dark module.
import { encode } from "uqr";

/** Modules of quiet around it, as the standard (ISO/IEC 18004) asks for. */
const QUIET = 4;

/** `size`: modules on a side, with the quiet ones. */
export function qrPath(text: string): { path: string; size: number } {
  const { data, size } = encode(text, { ecc: "L", border: QUIET });
  const squares = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : "")));
  return { path: squares.join(""), size };
}
