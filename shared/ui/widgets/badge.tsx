// A word about a row, in a pill.
import type { ReactNode } from "react";

export type BadgeTone = "quiet" | "accent" | "warning" | "danger";

export function Badge({ tone = "quiet", children }: { tone?: BadgeTone; children: ReactNode }): ReactNode {
  return <span className={`pill ${tone}`}>{children}</span>;
}

/** A dot before a word: there or not there, by its filling and not by colour alone. */
export function Presence({ isThere, children }: { isThere: boolean; children: ReactNode }): ReactNode {
  return (
    <span className="presence">
      <span className={isThere ? "dot there" : "dot"} aria-hidden="true" />
      {children}
    </span>
  );
}
