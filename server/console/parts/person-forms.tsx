// Forms about a person: added, given another role, given or deprived of a password.
import { type ReactNode, useState } from "react";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { FormDialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import { Select } from "@runnel/shared/ui/widgets/select.tsx";
import type { PersonRow, Role } from "../api.ts";
import { say, useConsole } from "../console.ts";

const PASSWORD_CHARACTERS_MIN = 10;

export function AddPerson({ close }: { close(): void }): ReactNode {
  const { calls } = useConsole();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("user");
  const [password, setPassword] = useState("");
  return (
    <FormDialog
      title={say("personAdd")}
      act={say("personAdd")}
      cancel={say("cancel")}
      isDisabled={name.trim() === ""}
      close={close}
      submit={async () => {
        const request = { name: name.trim(), role, ...(password === "" ? {} : { password }) };
        await calls.ask("addPerson", request);
      }}
    >
      <Field
        label={say("personName")}
        hint={say("personNameHint")}
        autoComplete="off"
        maxLength={64}
        required
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <RoleSelect role={role} change={setRole} />
      <NewPassword isOptional password={password} change={setPassword} />
    </FormDialog>
  );
}

export function ChangeRole(props: { person: PersonRow; close(): void; again(): void }): ReactNode {
  const { person, close, again } = props;
  const { calls } = useConsole();
  const [role, setRole] = useState(person.role);
  return (
    <FormDialog
      title={say("roleTitle", { name: person.name })}
      act={say("save")}
      cancel={say("cancel")}
      close={close}
      submit={async () => {
        await calls.ask("changePerson", { name: person.name, role });
        again();
      }}
    >
      <RoleSelect role={role} change={setRole} />
    </FormDialog>
  );
}

export function GivePassword(props: { person: PersonRow; close(): void; again(): void }): ReactNode {
  const { person, close, again } = props;
  const { calls } = useConsole();
  const [password, setPassword] = useState("");
  return (
    <FormDialog
      title={say("passwordTitle", { name: person.name })}
      act={say("save")}
      cancel={say("cancel")}
      isDisabled={password === ""}
      close={close}
      submit={async () => {
        await calls.ask("changePerson", { name: person.name, password });
        again();
      }}
    >
      <p className="quiet">{say("passwordEnds", { name: person.name })}</p>
      <NewPassword password={password} change={setPassword} />
    </FormDialog>
  );
}

function RoleSelect({ role, change }: { role: Role; change(role: Role): void }): ReactNode {
  return (
    <Select
      label={say("role")}
      hint={say(role === "admin" ? "roleAdminHint" : "roleUserHint")}
      value={role}
      choices={[
        { value: "user", label: say("roleUser") },
        { value: "admin", label: say("roleAdmin") },
      ]}
      change={(value) => change(value as Role)}
    />
  );
}

interface NewPasswordProps {
  isOptional?: boolean;
  error?: string;
  password: string;
  change(password: string): void;
}

export function NewPassword({ isOptional = false, error = "", password, change }: NewPasswordProps): ReactNode {
  return (
    <Field
      label={say(isOptional ? "passwordOptional" : "passwordNew")}
      hint={say(isOptional ? "passwordOptionalHint" : "passwordHint", { count: PASSWORD_CHARACTERS_MIN })}
      error={error}
      type="password"
      autoComplete="new-password"
      minLength={PASSWORD_CHARACTERS_MIN}
      required={!isOptional}
      value={password}
      onChange={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}
