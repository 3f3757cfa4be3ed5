// A choice of one of a few, as the system shows it.
import { type ReactNode, useId } from "react";

interface SelectProps {
  label: string;
  /** The label is said to who cannot see it, and not shown. */
  isLabelUnseen?: boolean;
  hint?: string;
  value: string;
  choices: readonly { value: string; label: string }[];
  change(value: string): void;
}

export function Select({ label, isLabelUnseen = false, hint = "", value, choices, change }: SelectProps): ReactNode {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id} className={isLabelUnseen ? "unseen" : ""}>
        {label}
      </label>
      <select
        id={id}
        value={value}
        aria-describedby={hint === "" ? undefined : `${id}h`}
        onChange={({ currentTarget }) => change(currentTarget.value)}
      >
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      {hint !== "" && (
        <p id={`${id}h`} className="small quiet">
          {hint}
        </p>
      )}
    </div>
  );
}
