// Fillings of a place that has no rows: a notice above, an empty state with the way to the first row, a shape of what
// is still to come.
import type { ReactNode } from "react";

type Tone = "calm" | "warning" | "danger";

/** Says what happened and, in `action`, what to do about it. */
export function Notice(props: { tone?: Tone; icon: ReactNode; children: ReactNode; action?: ReactNode }): ReactNode {
  const { tone = "calm", icon, children, action } = props;
  return (
    <div className={`notice ${tone}`} role={tone === "calm" ? "status" : "alert"}>
      {icon}
      <div>{children}</div>
      {action}
    </div>
  );
}

export function Empty(props: { icon: ReactNode; title: string; children: ReactNode; action?: ReactNode }): ReactNode {
  const { icon, title, children, action } = props;
  return (
    <div className="empty">
      {icon}
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </div>
  );
}

/** Has the size of what comes, in pixels, so that nothing moves when it does. */
export function Skeleton({ width = "100%", height }: { width?: number | string; height: number }): ReactNode {
  return <div className="skeleton" style={{ width, height }} aria-hidden="true" />;
}
