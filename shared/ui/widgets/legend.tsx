// The key of a chart: a sample of each series beside its name and its sum.
import type { ReactNode } from "react";

/** Colours of the series of a chart, in their order. */
export const SERIES_COLOURS = ["--series-2", "--series-1"] as const;

export function Legend({ items }: { items: readonly { label: string; value: string }[] }): ReactNode {
  return (
    <ul className="legend">
      {items.map(({ label, value }, index) => (
        <li key={label}>
          <span className="sample" style={{ background: `var(${SERIES_COLOURS[index] ?? "--series-1"})` }} />
          <span className="quiet">{label}</span>
          <strong>{value}</strong>
        </li>
      ))}
    </ul>
  );
}
