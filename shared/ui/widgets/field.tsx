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
      {error !== "" ? (
        <p id={`${id}e`} role="alert" className="small error">
          {error}
        </p>
      ) : (
        hint !== "" && (
          <p id={`${id}h`} className="small quiet">
            {hint}
          </p>
        )
      )}
    </div>
  );
}

interface CheckFieldProps {
  label: string;
  hint?: string;
  isChecked: boolean;
  change(isChecked: boolean): void;
}

export function CheckField({ label, hint = "", isChecked, change }: CheckFieldProps): ReactNode {
  const id = useId();
  return (
    <div>
      <label className="check-field">
        <input
          type="checkbox"
          aria-describedby={hint === "" ? undefined : id}
          checked={isChecked}
          onChange={({ currentTarget: { checked } }) => change(checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== "" && (
        <p id={id} className="small quiet">
          {hint}
        </p>
      )}
    </div>
  );
}
