// The door: the first set-up of a server, signing in, and what is said once a session has ended.
import { CircleAlert, Info, Waves } from "lucide-react";
import { type FormEvent, type ReactNode, useEffect, useState } from "react";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { say } from "../console.ts";
import { NewPassword } from "../parts/person-forms.tsx";

const ICON = 18;

interface DoorProps {
  /** Says why the person is here again; "" at first. */
  because: string;
  /** Resolves once the person is in. @throws Error with a sentence. */
  enter(name: string, password: string): Promise<void>;
}

export function SignIn({ because, enter }: DoorProps): ReactNode {
  const { name, password, problem, isBusy, setName, setPassword, submit } = useEntry(enter);
  return (
    <Door title={say("signInTitle")} hint={location.host}>
      <form onSubmit={submit}>
        {problem !== "" ? (
          <Notice tone="danger" icon={<CircleAlert size={ICON} aria-hidden="true" />}>
            {problem}
          </Notice>
        ) : (
          because !== "" && <Notice icon={<Info size={ICON} aria-hidden="true" />}>{because}</Notice>
        )}
        <Field
          label={say("signInName")}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          autoFocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <Field
          label={say("password")}
          type="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={({ currentTarget }) => setPassword(currentTarget.value)}
        />
        <Button type="submit" look="primary" disabled={isBusy}>
          {say(isBusy ? "signingIn" : "signIn")}
        </Button>
      </form>
      <p className="small quiet after">{say("signInHelp")}</p>
    </Door>
  );
}

export function SetUp({ enter }: Omit<DoorProps, "because">): ReactNode {
  const { name, password, problem, isBusy, setName, setPassword, submit } = useEntry(enter);
  return (
    <Door title={say("setUpTitle")} hint={say("setUpHint", { server: location.host })}>
      <form onSubmit={submit}>
        {problem !== "" && (
          <Notice tone="danger" icon={<CircleAlert size={ICON} aria-hidden="true" />}>
            {problem}
          </Notice>
        )}
        <Field
          label={say("setUpName")}
          hint={say("setUpNameHint")}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          maxLength={64}
          required
          autoFocus
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <NewPassword password={password} change={setPassword} />
        <Button type="submit" look="primary" disabled={isBusy}>
          {say("setUpDo")}
        </Button>
      </form>
    </Door>
  );
}

/** Says what the person can do who may not come in by a form. */
export function Closed({ title, children }: { title: string; children: ReactNode }): ReactNode {
  return (
    <Door title={title} hint="">
      <p className="after">{children}</p>
    </Door>
  );
}

function Door({ title, hint, children }: { title: string; hint: string; children: ReactNode }): ReactNode {
  useEffect(() => {
    document.title = say("documentTitle", { title });
  }, [title]);
  return (
    <main className="door">
      <section className="card">
        <div className="brand">
          <Waves size={30} aria-hidden="true" />
          <strong>Runnel</strong>
        </div>
        <h1>{title}</h1>
        {hint !== "" && <p className="quiet">{hint}</p>}
        {children}
      </section>
    </main>
  );
}

interface Entry {
  name: string;
  password: string;
  problem: string;
  isBusy: boolean;
  setName(name: string): void;
  setPassword(password: string): void;
  submit(event: FormEvent): void;
}

function useEntry(enter: DoorProps["enter"]): Entry {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const run = async (): Promise<void> => {
    setBusy(true);
    try {
      await enter(name.trim(), password);
    } catch (error) {
      setBusy(false);
      setPassword("");
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void run();
  };
  return { name, password, problem, isBusy, setName, setPassword, submit };
}
