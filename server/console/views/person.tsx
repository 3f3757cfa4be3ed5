// A person: role, password, devices, and what they may see.
import { KeyRound, LockKeyhole, Plus, ShieldUser, UserX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Badge } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { useLocation } from "wouter";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { CheckField } from "@runnel/shared/ui/widgets/field.tsx";
import { Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import type { DeviceRow, PersonRow } from "../api.ts";
import { say, useConsole, useServer } from "../console.ts";
import { Devices } from "../parts/devices.tsx";
import { Failed } from "../parts/failed.tsx";
import { MakeInvite } from "../parts/make-invite.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { ChangeRole, GivePassword } from "../parts/person-forms.tsx";

const ICON = 16;
const DEVICES_PIXELS = 180;

export function PersonView({ name }: { name: string }): ReactNode {
  const people = useServer<{ people: PersonRow[] }>("people");
  const devices = useServer<{ devices: DeviceRow[] }>("devices");
  const { calls } = useConsole();
  const [, go] = useLocation();
  const [asked, setAsked] = useState<"invite" | "role" | "password" | "take" | "remove">();
  const [revokes, setRevokes] = useState(true);
  const person = people.result?.people.find((each) => each.name === name);
  const close = (): void => setAsked(undefined);
  return (
    <>
      <PageHead
        title={name}
        back={{ href: "/people", label: say("navPeople") }}
        actions={
          person !== undefined && (
            <>
              <Button icon={<ShieldUser size={ICON} aria-hidden="true" />} onClick={() => setAsked("role")}>
                {say("roleChange")}
              </Button>
              <Button icon={<UserX size={ICON} aria-hidden="true" />} onClick={() => setAsked("remove")}>
                {say("personRemove")}
              </Button>
              <Button icon={<KeyRound size={ICON} aria-hidden="true" />} onClick={() => setAsked("password")}>
                {say(person.hasPassword ? "passwordReset" : "passwordGive")}
              </Button>
              {person.hasPassword && (
                <Button icon={<LockKeyhole size={ICON} aria-hidden="true" />} onClick={() => setAsked("take")}>
                  {say("passwordTake")}
                </Button>
              )}
              <Button look="primary" icon={<Plus size={ICON} aria-hidden="true" />} onClick={() => setAsked("invite")}>
                {say("inviteMake")}
              </Button>
            </>
          )
        }
      >
        {people.result === undefined ? undefined : person === undefined ? (
          say("personUnknown")
        ) : (
          <span className="pills">
            <Badge tone={person.role === "admin" ? "accent" : "quiet"}>
              {say(person.role === "admin" ? "roleAdmin" : "roleUser")}
            </Badge>
            <Badge>{say(person.hasPassword ? "passwordSet" : "passwordNone")}</Badge>
          </span>
        )}
      </PageHead>
      <Failed problem={people.problem === "" ? devices.problem : people.problem} again={people.again} />
      {people.result === undefined ? (
        <Pending isFailed={people.problem !== ""}>
          <Skeleton height={DEVICES_PIXELS} />
        </Pending>
      ) : (
        <section className="card">
          <header>
            <h2>{say("devices")}</h2>
          </header>
          <Devices
            devices={devices.result?.devices.filter((device) => device.person === name)}
            isFailed={devices.problem !== ""}
            again={devices.again}
            invite={() => setAsked("invite")}
            isOfOne
          />
        </section>
      )}
      {asked === "invite" && <MakeInvite person={name} close={close} />}
      {asked === "remove" && person !== undefined && (
        <Confirm
          title={say("personRemoveTitle", { name })}
          consequence={say("personRemoveConsequence", { name, devices: person.devices })}
          act={say("personRemove")}
          cancel={say("cancel")}
          close={close}
          confirm={async () => {
            await calls.ask("removePerson", { name, revokesDevices: revokes });
            go("/people");
          }}
        >
          {person.devices > 0 && (
            <CheckField
              label={say("personRemoveDevices", { devices: person.devices })}
              isChecked={revokes}
              change={setRevokes}
            />
          )}
        </Confirm>
      )}
      {asked === "take" && (
        <Confirm
          title={say("passwordTakeTitle", { name })}
          consequence={say("passwordTakeConsequence", { name })}
          act={say("passwordTake")}
          cancel={say("cancel")}
          close={close}
          confirm={async () => {
            await calls.ask("changePerson", { name, password: null });
            people.again();
          }}
        />
      )}
      {asked === "role" && person !== undefined && <ChangeRole person={person} close={close} again={people.again} />}
      {asked === "password" && person !== undefined && (
        <GivePassword person={person} close={close} again={people.again} />
      )}
    </>
  );
}
