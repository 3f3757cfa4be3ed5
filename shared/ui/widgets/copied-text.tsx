// A text that is to be taken elsewhere: shown whole on one line, copied by its button.
import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useId, useState } from "react";
import { IconButton } from "./button.tsx";

const ICON = 16;
const SHOWN_MS = 2000;

interface CopiedTextProps {
  label: string;
  text: string;
  copy: string;
  copied: string;
}

export function CopiedText({ label, text, copy, copied }: CopiedTextProps): ReactNode {
  const id = useId();
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const put = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="copied">
        <input id={id} readOnly value={text} onFocus={({ currentTarget }) => currentTarget.select()} />
        <IconButton
          label={isCopied ? copied : copy}
          icon={isCopied ? <Check size={ICON} aria-hidden="true" /> : <Copy size={ICON} aria-hidden="true" />}
          onClick={() => void put().catch(() => undefined)}
        />
      </div>
      <span className="unseen" role="status">
        {isCopied ? copied : ""}
      </span>
    </div>
  );
}
