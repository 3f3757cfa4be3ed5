// Makes an invite: for whom, to which volume, with which right; then shows it as text, code and command.
import { type ReactNode, useState } from "react";
import { formatMoment } from "@runnel/shared/ui/format.ts";
import { CopiedText } from "@runnel/shared/ui/widgets/copied-text.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { Field } from "@runnel/shared/ui/widgets/field.tsx";
import { Dialog, FormDialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import { Qr } from "@runnel/shared/ui/widgets/qr.tsx";
import { Select } from "@runnel/shared/ui/widgets/select.tsx";
import type { VolumeRow } from "../../src/live/rows.ts";
import type { MadeInvite } from "../api.ts";
import { say, useConsole, useServer } from "../console.ts";

const DAY_MS = 24 * 3_600_000;
const QR_PIXELS = 196;
const LASTS_DAYS = [1, 7, 30] as const;

interface MakeInviteProps {
  /** The volume it is for; chosen when left out. */
  volume?: string;
  /** The person it is for; typed when left out. */
  person?: string;
  close(): void;
}

export function MakeInvite({ volume: givenVolume, person: givenPerson, close }: MakeInviteProps): ReactNode {
  const { calls } = useConsole();
  const { result } = useServer<{ volumes: VolumeRow[] }>("volumes");
  const [person, setPerson] = useState(givenPerson ?? "");
  const [chosen, setChosen] = useState(givenVolume ?? "");
  const [right, setRight] = useState("write");
  const [days, setDays] = useState("7");
  const [made, setMade] = useState<MadeInvite>();
  const volumes = result?.volumes.map(({ name }) => name) ?? [];
  const volume = chosen === "" ? (volumes[0] ?? "") : chosen;
  const submit = async (): Promise<"stay"> => {
    const request = {
      volume,
      isReadOnly: right === "read",
      person: person.trim(),
      lastsMs: Number(days) * DAY_MS,
      // A console on the loopback has an address of its own, which says nothing of the server's.
      ...(location.protocol === "https:" ? { address: location.host } : {}),
    };
    setMade(await calls.ask<MadeInvite>("invite", request));
    return "stay";
  };
  if (made !== undefined) return <ShownInvite made={made} close={close} />;
  return (
    <FormDialog
      title={say("inviteMake")}
      act={say("inviteMake")}
      cancel={say("cancel")}
      isDisabled={volume === ""}
      close={close}
      submit={submit}
    >
      <Field
        label={say("invitePerson")}
        hint={say("invitePersonHint")}
        autoComplete="off"
        maxLength={64}
        value={person}
        onChange={({ currentTarget }) => setPerson(currentTarget.value)}
      />
      <div className="two">
        <Select
          label={say("inviteVolume")}
          value={volume}
          choices={volumes.map((name) => ({ value: name, label: name }))}
          change={setChosen}
        />
        <RightSelect value={right} change={setRight} />
      </div>
      <Select
        label={say("inviteLasts")}
        value={days}
        choices={LASTS_DAYS.map((count) => ({ value: String(count), label: say("inviteDays", { count }) }))}
        change={setDays}
      />
    </FormDialog>
  );
}

export function RightSelect({ value, change }: { value: string; change(value: string): void }): ReactNode {
  return (
    <Select
      label={say("right")}
      value={value}
      choices={[
        { value: "write", label: say("rightWrite") },
        { value: "read", label: say("rightRead") },
      ]}
      change={change}
    />
  );
}

function ShownInvite({ made, close }: { made: MadeInvite; close(): void }): ReactNode {
  const { invite, volume, untilMs } = made;
  const words = { copy: say("copy"), copied: say("copied") };
  return (
    <Dialog title={say("inviteMade", { volume })} close={close}>
      <p className="quiet wide">{say("inviteMadeHint", { until: formatMoment(untilMs) })}</p>
      <div className="invite-result">
        <div>
          <CopiedText label={say("inviteText")} text={invite} {...words} />
          <CopiedText label={say("inviteCommand")} text={`runnel login '${invite}'`} {...words} />
          <p className="small quiet">{say("inviteCommandHint")}</p>
        </div>
        <Qr text={invite} label={say("inviteQr")} pixels={QR_PIXELS} />
      </div>
      <footer>
        <Button look="primary" onClick={close}>
          {say("done")}
        </Button>
      </footer>
    </Dialog>
  );
}
