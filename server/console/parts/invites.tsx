// Invites in a table: who may still come, who came; and their withdrawal.
import { MailPlus, Plus } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Badge } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable, type Filter } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import type { InviteRow } from "../api.ts";
import { say, TABLE_WORDS, useConsole } from "../console.ts";
import { rightText } from "./devices.tsx";

type State = "open" | "used" | "ended";

export function Invites(props: {
  invites: readonly InviteRow[] | undefined;
  isFailed: boolean;
  again(): void;
  invite(): void;
}): ReactNode {
  const { invites, isFailed, again, invite } = props;
  const { calls } = useConsole();
  const [asked, setAsked] = useState<InviteRow>();
  return (
    <>
      <DataTable
        name={say("invites")}
        words={TABLE_WORDS}
        columns={COLUMNS}
        rows={invites}
        isFailed={isFailed}
        keyOf={({ id }) => id}
        order="-until"
        filters={[STATES]}
        empty={
          <Empty
            icon={<MailPlus size={28} aria-hidden="true" />}
            title={say("invitesNone")}
            action={
              <Button look="primary" icon={<Plus size={16} aria-hidden="true" />} onClick={invite}>
                {say("inviteMake")}
              </Button>
            }
          >
            {say("invitesNoneHint")}
          </Empty>
        }
        actions={(row) =>
          stateOf(row) === "open" && (
            <Button look="plain" onClick={() => setAsked(row)}>
              {say("withdraw")}
            </Button>
          )
        }
      />
      {asked !== undefined && (
        <Confirm
          title={say("withdrawTitle", { id: asked.id })}
          consequence={say("withdrawConsequence")}
          act={say("withdraw")}
          cancel={say("cancel")}
          close={() => setAsked(undefined)}
          confirm={async () => {
            await calls.ask("withdraw", { invite: asked.id });
            again();
          }}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<InviteRow>[] = [
  {
    id: "person",
    title: say("inviteFor"),
    value: ({ person }) => person,
    cell: ({ person, id }) => (
      <div className="name-cell">
        {person === "" ? <span className="quiet">{say("anybody")}</span> : <strong>{person}</strong>}
        <span className="small quiet">{id}</span>
      </div>
    ),
  },
  {
    id: "volume",
    title: say("inviteVolume"),
    value: rightTo,
    cell: (row) => <Badge>{rightTo(row)}</Badge>,
  },
  {
    id: "state",
    title: say("state"),
    value: stateText,
    cell: (row) => (
      <>
        <Badge tone={stateOf(row) === "open" ? "accent" : "quiet"}>{say(STATE_WORDS[stateOf(row)])}</Badge>{" "}
        {row.usedBy !== null && <span className="small quiet">{say("inviteUsedBy", { name: row.usedBy })}</span>}
      </>
    ),
  },
  {
    id: "until",
    title: say("inviteUntil"),
    value: ({ untilMs }) => untilMs,
    text: ({ untilMs }) => new Date(untilMs).toISOString(),
    cell: ({ untilMs }) => <Moment atMs={untilMs} />,
  },
];

const STATE_WORDS = { open: "inviteOpen", used: "inviteUsed", ended: "inviteEnded" } as const;

const STATES: Filter<InviteRow> = {
  id: "state",
  label: say("inviteAnyState"),
  choices: (["open", "used", "ended"] as const).map((value) => ({ value, label: say(STATE_WORDS[value]) })),
  accepts: (row, choice) => stateOf(row) === choice,
};

function stateOf({ usedBy, hasRunOut }: InviteRow): State {
  return usedBy !== null ? "used" : hasRunOut ? "ended" : "open";
}

function stateText(row: InviteRow): string {
  return say(STATE_WORDS[stateOf(row)]);
}

function rightTo({ volume, isReadOnly }: InviteRow): string {
  return rightText({ name: volume, isReadOnly });
}
