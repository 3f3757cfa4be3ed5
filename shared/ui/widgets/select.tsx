// A choice of one of a few: as the system shows it, or all side by side.
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

interface ChoicesProps {
  /** Said to who cannot see what is chosen between. */
  label: string;
  value: string;
  choices: readonly { value: string; label: string }[];
  change(value: string): void;
}

/** Two to five short choices. Tab goes to the one that is chosen, arrow keys to the others. */
export function Choices({ label, value, choices, change }: ChoicesProps): ReactNode {
  const id = useId();
  return (
    <div className="choices" role="radiogroup" aria-label={label}>
      {choices.map((choice) => (
        <label key={choice.value}>
          <input
            type="radio"
            className="unseen"
            name={id}
            checked={choice.value === value}
            onChange={() => change(choice.value)}
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}
