// A QR code, dark on light in either scheme, as cameras want it.
import type { ReactNode } from "react";
import { encode } from "uqr";

/** Modules of quiet around it, as the standard (ISO/IEC 18004) asks for. */
const QUIET = 4;

export function Qr({ text, label, pixels }: { text: string; label: string; pixels: number }): ReactNode {
  const { data, size } = encode(text, { ecc: "L", border: QUIET });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  return (
    <svg
      className="qr"
      role="img"
      aria-label={label}
      width={pixels}
      height={pixels}
      viewBox={`0 0 ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#ffffff" />
      <path d={path} fill="#000000" />
    </svg>
  );
}
