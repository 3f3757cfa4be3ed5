// People and devices: who may use the server, from which machines, and who has been invited.
import { Plus, UserPlus, Users } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { Badge, Presence } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable, type Filter } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import type { DeviceRow, InviteRow, PersonRow } from "../api.ts";
import { say, TABLE_WORDS, useServer } from "../console.ts";
import { Devices } from "../parts/devices.tsx";
import { Failed } from "../parts/failed.tsx";
import { Invites } from "../parts/invites.tsx";
import { MakeInvite } from "../parts/make-invite.tsx";
import { PageHead, Tabs } from "../parts/page-head.tsx";
import { AddPerson } from "../parts/person-forms.tsx";

const ICON = 16;

export function PeopleView({ tab }: { tab: string }): ReactNode {
  const [adds, setAdds] = useState<"invite" | "person">();
  const [round, setRound] = useState(0);
  const invite = (): void => setAdds("invite");
  const close = (): void => {
    setAdds(undefined);
    setRound(round + 1);
  };
  return (
    <>
      <PageHead
        title={say("navPeople")}
        actions={
          <>
            <Button icon={<UserPlus size={ICON} aria-hidden="true" />} onClick={() => setAdds("person")}>
              {say("personAdd")}
            </Button>
            <Button look="primary" icon={<Plus size={ICON} aria-hidden="true" />} onClick={invite}>
              {say("inviteMake")}
            </Button>
          </>
        }
      >
        {say("peopleHint")}
      </PageHead>
      <Tabs
        label={say("navPeople")}
        tabs={[
          { href: "/people", label: say("people") },
          { href: "/people/devices", label: say("devices") },
          { href: "/people/invites", label: say("invites") },
        ]}
      />
      {tab === "devices" ? (
        <DevicesTab key={round} invite={invite} />
      ) : tab === "invites" ? (
        <InvitesTab key={round} invite={invite} />
      ) : (
        <PeopleTab key={round} add={() => setAdds("person")} />
      )}
      {adds === "invite" && <MakeInvite close={close} />}
      {adds === "person" && <AddPerson close={close} />}
    </>
  );
}

function PeopleTab({ add }: { add(): void }): ReactNode {
  const { result, problem, again } = useServer<{ people: PersonRow[] }>("people");
  return (
    <>
      <Failed problem={problem} again={again} />
      <section className="card">
        <DataTable
          name={say("people")}
          words={TABLE_WORDS}
          columns={COLUMNS}
          rows={result?.people}
          isFailed={problem !== ""}
          keyOf={({ name }) => name}
          order="name"
          filters={[ROLES]}
          empty={
            <Empty
              icon={<Users size={28} aria-hidden="true" />}
              title={say("peopleNone")}
              action={
                <Button look="primary" onClick={add}>
                  {say("personAdd")}
                </Button>
              }
            >
              {say("peopleNoneHint")}
            </Empty>
          }
        />
      </section>
    </>
  );
}

function DevicesTab({ invite }: { invite(): void }): ReactNode {
  const { result, problem, again } = useServer<{ devices: DeviceRow[] }>("devices");
  return (
    <>
      <Failed problem={problem} again={again} />
      <section className="card">
        <Devices devices={result?.devices} isFailed={problem !== ""} again={again} invite={invite} />
      </section>
    </>
  );
}

function InvitesTab({ invite }: { invite(): void }): ReactNode {
  const { result, problem, again } = useServer<{ invites: InviteRow[] }>("invites");
  return (
    <>
      <Failed problem={problem} again={again} />
      <section className="card">
        <Invites invites={result?.invites} isFailed={problem !== ""} again={again} invite={invite} />
      </section>
    </>
  );
}

const COLUMNS: readonly Column<PersonRow>[] = [
  {
    id: "name",
    title: say("person"),
    value: ({ name }) => name,
    cell: ({ name }) => (
      <div className="name-cell">
        <Link href={`/person/${encodeURIComponent(name)}`}>{name}</Link>
      </div>
    ),
  },
  {
    id: "role",
    title: say("role"),
    value: ({ role }) => say(role === "admin" ? "roleAdmin" : "roleUser"),
    cell: ({ role }) => (
      <Badge tone={role === "admin" ? "accent" : "quiet"}>{say(role === "admin" ? "roleAdmin" : "roleUser")}</Badge>
    ),
  },
  {
    id: "password",
    title: say("consoleAccess"),
    value: ({ hasPassword }) => say(hasPassword ? "passwordSet" : "passwordNone"),
    cell: ({ hasPassword }) => (
      <span className={hasPassword ? "" : "quiet"}>{say(hasPassword ? "passwordSet" : "passwordNone")}</span>
    ),
    isMinor: true,
  },
  { id: "devices", title: say("devices"), value: ({ devices }) => devices, isNumber: true },
  {
    id: "state",
    title: say("state"),
    value: ({ isOn }) => say(isOn ? "personOn" : "personOff"),
    cell: ({ isOn }) => <Presence isThere={isOn}>{say(isOn ? "personOn" : "personOff")}</Presence>,
  },
];

const ROLES: Filter<PersonRow> = {
  id: "role",
  label: say("anyRole"),
  choices: [
    { value: "admin", label: say("roleAdmin") },
    { value: "user", label: say("roleUser") },
  ],
  accepts: ({ role }, choice) => role === choice,
};
