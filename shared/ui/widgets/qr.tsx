// A QR code, dark on light in either scheme, as cameras want it.
import type { ReactNode } from "react";
import { qrPath } from "../qr-path.ts";

export function Qr({ text, label, pixels }: { text: string; label: string; pixels: number }): ReactNode {
  const { path, size } = qrPath(text);
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
