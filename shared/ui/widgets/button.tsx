// A button: with words, or with an icon alone and the words for who cannot see it.
import type { ButtonHTMLAttributes, ReactNode } from "react";
import { Tip } from "./tip.tsx";

type Look = "normal" | "primary" | "danger" | "plain";

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  icon?: ReactNode;
}

export function Button({ look = "normal", icon, className = "", children, ...rest }: ButtonProps): ReactNode {
  return (
    <button type="button" className={`button ${look} ${className}`} {...rest}>
      {icon}
      {children}
    </button>
  );
}

/** A button that shows an icon alone; `label` is said to who cannot see it and shown to who points at it. */
export function IconButton({ label, icon, ...rest }: Omit<ButtonProps, "children"> & { label: string }): ReactNode {
  return (
    <Tip text={label}>
      <Button look="plain" aria-label={label} icon={icon} {...rest} className="icon-only" />
    </Tip>
  );
}
