// Adds a drive: from an invite, which makes this machine known to the server first, or from an address.
import { CircleCheck, TriangleAlert } from "lucide-react";
import { type ChangeEventHandler, type FormEvent, type ReactNode, useEffect, useState } from "react";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { CheckField, Field } from "@runnel/shared/ui/widgets/field.tsx";
import { Notice } from "@runnel/shared/ui/widgets/notice.tsx";
import { say, useAgent } from "../agent.ts";
import { nameOf } from "./home.tsx";

interface Typed {
  invite: string;
  mountpoint: string;
  name: string;
}

export function AddView(): ReactNode {
  const { calls } = useAgent();
  const [typed, setTyped] = useState<Typed>({ invite: "", mountpoint: "", name: "" });
  const [problems, setProblems] = useState<Partial<Typed>>({});
  /** The reason why the drive was not mapped, whatever was wrong. */
  const [refusal, setRefusal] = useState("");
  const [isKept, setKept] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [added, setAdded] = useState("");
  const isInvite = typed.invite.trim().startsWith("runnel://");

  useEffect(() => {
    // A link that the system handed to the app: a person reads it here, and decides.
    void window.runnel?.takeInvite().then((invite) => {
      if (invite !== "") setTyped((before) => ({ ...before, invite }));
    });
  }, []);

  const add = async (): Promise<void> => {
    const [invite, mountpoint, name] = [typed.invite.trim(), typed.mountpoint.trim(), typed.name.trim()];
    const missing: Partial<Typed> = {
      ...(invite === "" ? { invite: say("addNeedsInvite") } : {}),
      ...(mountpoint === "" ? { mountpoint: say("addNeedsMountpoint") } : {}),
    };
    setProblems(missing);
    setRefusal("");
    if (Object.keys(missing).length > 0) return;
    setBusy(true);
    setAdded("");
    let failed = (sentence: string): void => setProblems({ invite: sentence });
    try {
      let url = invite;
      if (isInvite) {
        const request = name === "" ? { invite } : { invite, name };
        ({ url } = await calls.ask<{ url: string }>("login", request));
        // An invite is good once: what is tried again is the address.
        setTyped((before) => ({ ...before, invite: url }));
      }
      failed = setRefusal;
      await calls.ask("mount", { url, mountpoint, mode: "sync", keep: isKept });
      setAdded(nameOf(mountpoint));
      setTyped({ invite: "", mountpoint: "", name: "" });
    } catch (error) {
      failed(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    void add();
  };
  const field = (
    key: keyof Typed,
  ): { value: string; error: string; onChange: ChangeEventHandler<HTMLInputElement> } => ({
    value: typed[key],
    error: problems[key] ?? "",
    onChange: ({ currentTarget: { value } }) => setTyped((before) => ({ ...before, [key]: value })),
  });

  return (
    <section className="card">
      <header>
        <h2>{say("addTitle")}</h2>
      </header>
      <form className="pad" onSubmit={submit}>
        {added !== "" && (
          <Notice icon={<CircleCheck size={18} aria-hidden="true" />}>{say("addDone", { name: added })}</Notice>
        )}
        <Field
          label={say("addInvite")}
          hint={say("addInviteHint")}
          autoComplete="off"
          spellCheck={false}
          {...field("invite")}
        />
        <Field
          label={say("addMountpoint")}
          hint={say("addMountpointHint")}
          autoComplete="off"
          spellCheck={false}
          {...field("mountpoint")}
        />
        {isInvite && <Field label={say("addName")} hint={say("addNameHint")} autoComplete="off" {...field("name")} />}
        <CheckField label={say("addKeep")} hint={say("keepHint")} isChecked={isKept} change={setKept} />
        {refusal !== "" && (
          <Notice tone="danger" icon={<TriangleAlert size={18} aria-hidden="true" />}>
            {refusal}
          </Notice>
        )}
        <div>
          <Button type="submit" look="primary" disabled={isBusy}>
            {say(isBusy ? "addDoing" : "addDo")}
          </Button>
        </div>
      </form>
    </section>
  );
}
