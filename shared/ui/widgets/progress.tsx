// A bar that shows how much of something is done.
import type { ReactNode } from "react";

/** `share`: from 0 to 1. */
export function Progress({ share, label }: { share: number; label: string }): ReactNode {
  const percent = Math.round(100 * Math.min(1, Math.max(0, share)));
  return (
    <div
      className="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}
