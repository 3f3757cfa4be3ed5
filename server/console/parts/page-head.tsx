// The head of a view: its title, a sentence about it, what can be done. And tabs between views that belong together.
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { Link, useLocation } from "wouter";
import { say } from "../console.ts";

interface PageHeadProps {
  title: string;
  children?: ReactNode;
  actions?: ReactNode;
  /** The view that this one is a part of. */
  back?: { href: string; label: string };
}

export function PageHead({ title, children, actions, back }: PageHeadProps): ReactNode {
  useEffect(() => {
    document.title = say("documentTitle", { title });
  }, [title]);
  return (
    <div className="page-head">
      <div className="words">
        {back !== undefined && (
          <Link href={back.href} className="back">
            <ChevronLeft size={14} aria-hidden="true" />
            {back.label}
          </Link>
        )}
        <h1>{title}</h1>
        {children !== undefined && <p>{children}</p>}
      </div>
      {actions !== undefined && <div className="actions">{actions}</div>}
    </div>
  );
}

export function Tabs(props: { label: string; tabs: readonly { href: string; label: string }[] }): ReactNode {
  const [location] = useLocation();
  return (
    <nav className="tabs" aria-label={props.label}>
      {props.tabs.map(({ href, label }) => (
        <Link key={href} href={href} aria-current={location === href ? "page" : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
