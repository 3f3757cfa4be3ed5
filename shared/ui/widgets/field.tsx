// A line of a form: its label, what is typed, what is wrong with that.
import { type InputHTMLAttributes, type ReactNode, useId } from "react";

interface FieldProps extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  hint?: string;
  error?: string;
}

export function Field({ label, hint = "", error = "", ...input }: FieldProps): ReactNode {
  const id = useId();
  const described = error !== "" ? `${id}e` : hint !== "" ? `${id}h` : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input id={id} aria-invalid={error !== ""} aria-describedby={described} {...input} />
      <Below id={id} hint={hint} error={error} />
    </div>
  );
}

interface CheckFieldProps {
  label: string;
  hint?: string;
  error?: string;
  isChecked: boolean;
  isDisabled?: boolean;
  change(isChecked: boolean): void;
}

export function CheckField({ label, hint = "", error = "", isChecked, ...more }: CheckFieldProps): ReactNode {
  const id = useId();
  const { isDisabled = false, change } = more;
  const described = error !== "" ? `${id}e` : hint !== "" ? `${id}h` : undefined;
  return (
    <div>
      <label className="check-field">
        <input
          type="checkbox"
          aria-describedby={described}
          checked={isChecked}
          disabled={isDisabled}
          onChange={({ currentTarget: { checked } }) => change(checked)}
        />
        <span>{label}</span>
      </label>
      <Below id={id} hint={hint} error={error} />
    </div>
  );
}

/** Says what is wrong with a line, or else what it is for. */
function Below({ id, hint, error }: { id: string; hint: string; error: string }): ReactNode {
  if (error !== "")
    return (
      <p id={`${id}e`} role="alert" className="small error">
        {error}
      </p>
    );
  if (hint === "") return null;
  return (
    <p id={`${id}h`} className="small quiet">
      {hint}
    </p>
  );
}
