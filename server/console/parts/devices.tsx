// Devices in a table, with what can be done about each: its rights, and the end of its access.
import { Ellipsis, KeyRound, Laptop, Plus, ShieldX } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { Badge, Presence } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button, IconButton } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable, type Filter } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { FormDialog } from "@runnel/shared/ui/widgets/form-dialog.tsx";
import { Menu } from "@runnel/shared/ui/widgets/menu.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import { Select } from "@runnel/shared/ui/widgets/select.tsx";
import type { VolumeRow } from "../../src/live/rows.ts";
import type { DeviceRow } from "../api.ts";
import { say, TABLE_WORDS, useConsole, useServer } from "../console.ts";

const ICON = 16;

interface DevicesProps {
  /** Undefined while they have not come. */
  devices: readonly DeviceRow[] | undefined;
  /** They will not come: a notice elsewhere says why. */
  isFailed?: boolean;
  again(): void;
  /** Shown when there are none: makes an invite. */
  invite?(): void;
  /** They are all of one person: no column says whose. */
  isOfOne?: boolean;
  /** The one who looks may only revoke. */
  isOwn?: boolean;
}

export function Devices(props: DevicesProps): ReactNode {
  const { devices, isFailed = false, again, invite, isOfOne = false, isOwn = false } = props;
  const [asked, setAsked] = useState<{ device: DeviceRow; to: "revoke" | "rights" }>();
  const close = (): void => setAsked(undefined);
  return (
    <>
      <DataTable
        name={say("devices")}
        words={TABLE_WORDS}
        columns={isOfOne ? COLUMNS.filter(({ id }) => id !== "person") : COLUMNS}
        rows={devices}
        isFailed={isFailed}
        keyOf={({ id }) => id}
        order="name"
        filters={[STATES]}
        empty={
          <Empty
            icon={<Laptop size={28} aria-hidden="true" />}
            title={say("devicesNone")}
            action={
              invite !== undefined && (
                <Button look="primary" icon={<Plus size={ICON} aria-hidden="true" />} onClick={invite}>
                  {say("inviteMake")}
                </Button>
              )
            }
          >
            {say("devicesNoneHint")}
          </Empty>
        }
        actions={(device) =>
          device.revokedMs === null && (
            <Menu
              items={[
                ...(isOwn
                  ? []
                  : [
                      {
                        label: say("rightsChange"),
                        icon: <KeyRound size={ICON} aria-hidden="true" />,
                        choose: () => setAsked({ device, to: "rights" }),
                      },
                    ]),
                {
                  label: say("revoke"),
                  icon: <ShieldX size={ICON} aria-hidden="true" />,
                  isDangerous: true,
                  choose: () => setAsked({ device, to: "revoke" }),
                },
              ]}
            >
              <IconButton label={say("deviceMenu", { name: device.name })} icon={<Ellipsis size={18} />} />
            </Menu>
          )
        }
      />
      {asked?.to === "revoke" && <Revoke device={asked.device} close={close} again={again} />}
      {asked?.to === "rights" && <Rights device={asked.device} close={close} again={again} />}
    </>
  );
}

const STATE_WORDS = { on: "deviceOn", off: "deviceOff", revoked: "deviceRevoked" } as const;

const COLUMNS: readonly Column<DeviceRow>[] = [
  {
    id: "name",
    title: say("deviceName"),
    value: ({ name }) => name,
    cell: ({ name, id }) => (
      <div className="name-cell">
        <strong>{name}</strong>
        <span className="small quiet">{id}</span>
      </div>
    ),
  },
  {
    id: "person",
    title: say("person"),
    value: ({ person }) => person,
    cell: ({ person }) =>
      person === "" ? (
        <span className="quiet">{say("nobody")}</span>
      ) : (
        <Link href={`/person/${encodeURIComponent(person)}`}>{person}</Link>
      ),
  },
  {
    id: "volumes",
    title: say("navVolumes"),
    value: ({ volumes }) => volumes.length,
    text: ({ volumes }) => volumes.map(rightText).join(", "),
    cell: ({ volumes }) => (
      <span className="pills">
        {volumes.length === 0 && <span className="quiet">{say("rightNone")}</span>}
        {volumes.map((volume) => (
          <Badge key={volume.name}>{rightText(volume)}</Badge>
        ))}
      </span>
    ),
  },
  {
    id: "state",
    title: say("state"),
    value: (device) => say(STATE_WORDS[stateOf(device)]),
    cell: (device) => <State device={device} />,
  },
  {
    id: "seen",
    title: say("deviceSeen"),
    value: ({ seenMs }) => seenMs ?? 0,
    text: ({ seenMs }) => (seenMs === null ? "" : new Date(seenMs).toISOString()),
    cell: ({ isConnected, seenMs }) =>
      isConnected ? (
        say("deviceSeenNow")
      ) : seenMs === null ? (
        <span className="quiet">–</span>
      ) : (
        <Moment atMs={seenMs} />
      ),
  },
  {
    id: "added",
    title: say("deviceAdded"),
    value: ({ createdMs }) => createdMs,
    text: ({ createdMs }) => new Date(createdMs).toISOString(),
    cell: ({ createdMs }) => <Moment atMs={createdMs} />,
    isMinor: true,
  },
];

const STATES: Filter<DeviceRow> = {
  id: "state",
  label: say("deviceAnyState"),
  choices: (["on", "off", "revoked"] as const).map((value) => ({ value, label: say(STATE_WORDS[value]) })),
  accepts: (device, choice) => stateOf(device) === choice,
};

function stateOf({ isConnected, revokedMs }: DeviceRow): keyof typeof STATE_WORDS {
  return revokedMs !== null ? "revoked" : isConnected ? "on" : "off";
}

function State({ device }: { device: DeviceRow }): ReactNode {
  const { isConnected, revokedMs } = device;
  if (revokedMs !== null) {
    return (
      <>
        <Badge tone="danger">{say("deviceRevoked")}</Badge>{" "}
        <span className="small quiet">
          <Moment atMs={revokedMs} />
        </span>
      </>
    );
  }
  return <Presence isThere={isConnected}>{say(STATE_WORDS[stateOf(device)])}</Presence>;
}

export function rightText({ name, isReadOnly }: { name: string; isReadOnly: boolean }): string {
  return isReadOnly ? say("rightReadOn", { volume: name }) : name;
}

interface ActProps {
  device: DeviceRow;
  close(): void;
  again(): void;
}

function Revoke({ device: { id, name, person, isConnected }, close, again }: ActProps): ReactNode {
  const { calls } = useConsole();
  return (
    <Confirm
      title={say("revokeTitle", { name })}
      consequence={say("revokeConsequence", {
        name,
        owner: person === "" ? "none" : "some",
        person,
        now: isConnected ? "on" : "off",
      })}
      act={say("revoke")}
      cancel={say("cancel")}
      close={close}
      confirm={async () => {
        await calls.ask("revoke", { device: id });
        again();
      }}
    />
  );
}

/** Sets the right of a device on each volume. */
function Rights({ device, close, again }: ActProps): ReactNode {
  const { calls } = useConsole();
  const { result } = useServer<{ volumes: VolumeRow[] }>("volumes");
  const [changed, setChanged] = useState<Readonly<Record<string, string>>>({});
  const before = (volume: string): string => {
    const given = device.volumes.find(({ name }) => name === volume);
    return given === undefined ? "none" : given.isReadOnly ? "read" : "write";
  };
  const submit = async (): Promise<void> => {
    for (const [volume, right] of Object.entries(changed))
      if (right !== before(volume)) await calls.ask("setRight", { device: device.id, volume, right });
    again();
  };
  const volumes = result?.volumes.map(({ name }) => name) ?? device.volumes.map(({ name }) => name);
  return (
    <FormDialog
      title={say("rightsTitle", { name: device.name })}
      act={say("save")}
      cancel={say("cancel")}
      close={close}
      submit={submit}
    >
      <p className="quiet">{say("rightsHint")}</p>
      {volumes.map((volume) => (
        <Select
          key={volume}
          label={volume}
          value={changed[volume] ?? before(volume)}
          choices={[
            { value: "write", label: say("rightWrite") },
            { value: "read", label: say("rightRead") },
            { value: "none", label: say("rightNone") },
          ]}
          change={(right) => setChanged((others) => ({ ...others, [volume]: right }))}
        />
      ))}
    </FormDialog>
  );
}
