// Fillings of a place that has no rows: a notice above, an empty state with the way to the first row, a shape of what
// is still to come.
import { TriangleAlert } from "lucide-react";
import { type ReactNode, useContext } from "react";
import { LineContext } from "../line-context.ts";
import { Button } from "./button.tsx";

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

/** Says that what a view asked for was not answered, and asks again; nothing while there is no problem. */
export function Failure(props: { problem: string; again(): void; act: string }): ReactNode {
  const { problem, again, act } = props;
  if (problem === "") return null;
  return (
    <Notice
      tone="danger"
      icon={<TriangleAlert size={18} aria-hidden="true" />}
      action={<Button onClick={again}>{act}</Button>}
    >
      {problem}
    </Notice>
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

/**
 * Holds the place of an answer: `children` are its shape while it is to come. Once nobody answers, a sentence says so;
 * when it failed, what says why stands elsewhere, and this is nothing.
 */
export function Pending({ isFailed = false, children }: { isFailed?: boolean; children: ReactNode }): ReactNode {
  const { isGone, unknown } = useContext(LineContext);
  if (isFailed) return null;
  return isGone ? <p className="unknown">{unknown}</p> : <div className="pending">{children}</div>;
}

/** Has the size of what comes, in pixels, so that nothing moves when it does. Is nothing once nobody answers. */
export function Skeleton({ width = "100%", height }: { width?: number | string; height: number }): ReactNode {
  const { isGone } = useContext(LineContext);
  return isGone ? null : <span className="skeleton" style={{ width, height }} aria-hidden="true" />;
}
