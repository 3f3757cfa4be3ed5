// Live: who is connected, what is open, who promises what to whom, what moves now.
import { Cable, FileClock, Handshake, Hourglass, MoveVertical, Unplug } from "lucide-react";
import { type ReactNode, useState } from "react";
import { formatBytes, formatDuration, formatPercent, formatRate } from "@runnel/shared/ui/format.ts";
import { Badge } from "@runnel/shared/ui/widgets/badge.tsx";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable, type DataTableProps } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import { Progress } from "@runnel/shared/ui/widgets/progress.tsx";
import type { ConnectionRow, LeaseRow, OpenFileRow, RecallRow, TransferRow } from "../../src/live/rows.ts";
import { type Followed, say, type ServerLists, TABLE_WORDS, useConsole, useOverview } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { PageHead, Tabs } from "../parts/page-head.tsx";

const EMPTY_ICON = 28;

export function LiveView({ tab }: { tab: string }): ReactNode {
  return (
    <>
      <PageHead title={say("navLive")}>{say("liveHint")}</PageHead>
      <Tabs
        label={say("navLive")}
        tabs={[
          { href: "/live", label: say("connections") },
          { href: "/live/files", label: say("openFiles") },
          { href: "/live/leases", label: say("leases") },
          { href: "/live/transfers", label: say("transfers") },
        ]}
      />
      {tab === "files" ? (
        <OpenFiles />
      ) : tab === "leases" ? (
        <Leases />
      ) : tab === "transfers" ? (
        <Transfers />
      ) : (
        <Connections />
      )}
    </>
  );
}

function Connections(): ReactNode {
  const { calls } = useConsole();
  const followed = useOverview("connections");
  const [asked, setAsked] = useState<ConnectionRow>();
  return (
    <>
      <LiveTable
        followed={followed}
        list="connections"
        name={say("connections")}
        columns={CONNECTIONS}
        order="-since"
        empty={
          <Empty icon={<Cable size={EMPTY_ICON} aria-hidden="true" />} title={say("connectionsNone")}>
            {say("connectionsNoneHint")}
          </Empty>
        }
        actions={(row) => (
          <Button look="plain" icon={<Unplug size={16} aria-hidden="true" />} onClick={() => setAsked(row)}>
            {say("disconnect")}
          </Button>
        )}
      />
      {asked !== undefined && (
        <Confirm
          title={say("disconnectTitle", { name: nameOf(asked) })}
          consequence={say("disconnectConsequence", { name: nameOf(asked) })}
          act={say("disconnect")}
          cancel={say("cancel")}
          close={() => setAsked(undefined)}
          confirm={async () => {
            await calls.ask("disconnect", { connection: asked.key });
            followed.again();
          }}
        />
      )}
    </>
  );
}

function OpenFiles(): ReactNode {
  const followed = useOverview("openFiles");
  return (
    <LiveTable
      followed={followed}
      list="openFiles"
      name={say("openFiles")}
      columns={OPEN_FILES}
      order="path"
      empty={
        <Empty icon={<FileClock size={EMPTY_ICON} aria-hidden="true" />} title={say("openFilesNone")}>
          {say("openFilesNoneHint")}
        </Empty>
      }
    />
  );
}

function Leases(): ReactNode {
  const followed = useOverview("leases", "recalls");
  return (
    <LiveTable
      followed={followed}
      list="leases"
      above={<Recalls recalls={followed.lists.recalls ?? []} omitted={followed.omitted.recalls} />}
      name={say("leases")}
      columns={LEASES}
      order="name"
      empty={
        <Empty icon={<Handshake size={EMPTY_ICON} aria-hidden="true" />} title={say("leasesNone")}>
          {say("leasesNoneHint")}
        </Empty>
      }
    />
  );
}

type LiveList = "connections" | "openFiles" | "leases" | "transfers";

interface LiveTableProps<List extends LiveList> extends Omit<
  DataTableProps<ServerLists[List][number]>,
  "words" | "rows" | "isFailed" | "keyOf"
> {
  followed: Followed;
  list: List;
  above?: ReactNode;
}

/** A table of what the server has now, under what went wrong. */
function LiveTable<List extends LiveList>({ followed, list, above, ...table }: LiveTableProps<List>): ReactNode {
  const { problem, again, lists, omitted } = followed;
  return (
    <>
      <Failed problem={problem} again={again} />
      {above}
      <section className="card">
        <DataTable
          words={TABLE_WORDS}
          rows={lists[list]}
          isFailed={problem !== ""}
          keyOf={({ key }) => key}
          {...table}
        />
        <Omitted count={omitted[list]} />
      </section>
    </>
  );
}

/** Says how many more there are than a list has place for. */
function Omitted({ count = 0 }: { count?: number | undefined }): ReactNode {
  return count > 0 && <p className="empty-line small">{say("listOmitted", { count })}</p>;
}

/** Changes that wait for somebody; drawn only while there are some. */
function Recalls({ recalls, omitted }: { recalls: readonly RecallRow[]; omitted?: number | undefined }): ReactNode {
  if (recalls.length === 0) return null;
  return (
    <section className="card" aria-live="polite">
      <header>
        <h2>{say("recalls")}</h2>
      </header>
      <ul className="lines">
        {recalls.map(({ key, volume, path, waiting, lastsMs, holders }) => (
          <li key={key}>
            <Hourglass size={18} className="quiet" aria-hidden="true" />
            <div className="name-cell">
              <span>
                {say("recallWaits", {
                  who: nameOf(waiting),
                  holders: holders.map(nameOf).join(", "),
                  time: formatDuration(lastsMs),
                })}
              </span>
              <span className="small quiet">{path === "" ? volume : `${volume}/${path}`}</span>
            </div>
            <span className="small quiet">
              {say("recallLeft", { time: formatDuration(Math.max(0, ...holders.map(({ leftMs }) => leftMs))) })}
            </span>
          </li>
        ))}
      </ul>
      <Omitted count={omitted} />
    </section>
  );
}

function Transfers(): ReactNode {
  const followed = useOverview("transfers");
  return (
    <LiveTable
      followed={followed}
      list="transfers"
      name={say("transfers")}
      columns={TRANSFERS}
      order="path"
      empty={
        <Empty icon={<MoveVertical size={EMPTY_ICON} aria-hidden="true" />} title={say("transfersNone")}>
          {say("transfersNoneHint")}
        </Empty>
      }
    />
  );
}

interface Whose {
  device: string;
  name: string;
  who?: string;
}

/** Returns the device's name; of a program of the server's own user, the name that it calls itself. */
function nameOf({ name, device, who = "" }: Whose): string {
  return name !== "" ? name : device !== "" ? device : who !== "" ? who : say("actorOwner");
}

function Named({ row, person = "" }: { row: Whose; person?: string }): ReactNode {
  return (
    <div className="name-cell">
      <strong>{nameOf(row)}</strong>
      {person !== "" && <span className="small quiet">{person}</span>}
    </div>
  );
}

const CONNECTIONS: readonly Column<ConnectionRow>[] = [
  {
    id: "name",
    title: say("deviceName"),
    value: nameOf,
    cell: (row) => <Named row={row} person={row.person} />,
  },
  {
    id: "volumes",
    title: say("navVolumes"),
    value: ({ volumes }) => volumes.join(", "),
    cell: ({ volumes }) => (
      <span className="pills">
        {volumes.map((volume) => (
          <Badge key={volume}>{volume}</Badge>
        ))}
      </span>
    ),
  },
  { id: "address", title: say("address"), value: ({ address }) => address, isMinor: true },
  {
    id: "sent",
    title: say("bytesOut"),
    value: ({ sentBytes }) => sentBytes,
    cell: ({ sentBytes }) => formatBytes(sentBytes),
    isNumber: true,
  },
  {
    id: "received",
    title: say("bytesIn"),
    value: ({ receivedBytes }) => receivedBytes,
    cell: ({ receivedBytes }) => formatBytes(receivedBytes),
    isNumber: true,
  },
  {
    id: "since",
    title: say("since"),
    value: ({ sinceMs }) => sinceMs,
    text: ({ sinceMs }) => new Date(sinceMs).toISOString(),
    cell: ({ sinceMs }) => <Moment atMs={sinceMs} />,
  },
];

const OPEN_FILES: readonly Column<OpenFileRow>[] = [
  {
    id: "path",
    title: say("file"),
    value: ({ volume, path }) => `${volume}/${path}`,
    cell: ({ volume, path }) => (
      <div className="name-cell">
        <strong>{path}</strong>
        <span className="small quiet">{volume}</span>
      </div>
    ),
  },
  { id: "name", title: say("openBy"), value: nameOf, cell: (row) => <Named row={row} person={row.person} /> },
  {
    id: "since",
    // A server is not told of each opening.
    title: say("driveSince"),
    value: ({ sinceMs }) => sinceMs ?? 0,
    text: ({ sinceMs }) => (sinceMs === null ? "" : new Date(sinceMs).toISOString()),
    cell: ({ sinceMs }) => (sinceMs === null ? "" : <Moment atMs={sinceMs} />),
  },
];

const LEASES: readonly Column<LeaseRow>[] = [
  { id: "name", title: say("deviceName"), value: nameOf, cell: (row) => <Named row={row} /> },
  {
    id: "volume",
    title: say("inviteVolume"),
    value: ({ volume }) => volume,
    cell: ({ volume }) => <Badge>{volume}</Badge>,
  },
  {
    id: "folders",
    title: say("leaseFollows"),
    value: ({ folders }) => folders ?? Number.MAX_SAFE_INTEGER,
    text: ({ folders }) => followsText(folders),
    cell: ({ folders }) => followsText(folders),
  },
  {
    id: "left",
    title: say("leaseLeft"),
    value: ({ leaseMs }) => leaseMs,
    cell: ({ leaseMs }) => (leaseMs === 0 ? say("leaseEnded") : formatDuration(leaseMs)),
    isNumber: true,
  },
  {
    id: "waits",
    title: say("leaseWaits"),
    value: ({ waits }) => waits.join(", "),
    cell: ({ waits }) =>
      waits.length === 0 ? (
        <span className="quiet">{say("leaseNobody")}</span>
      ) : (
        <Badge tone="warning">{waits.join(", ")}</Badge>
      ),
  },
];

function followsText(folders: number | null): string {
  return folders === null ? say("leaseAll") : say("leaseFolders", { count: folders });
}

const TRANSFERS: readonly Column<TransferRow>[] = [
  {
    id: "path",
    title: say("file"),
    value: ({ volume, path }) => `${volume}/${path}`,
    cell: ({ volume, path }) => (
      <div className="name-cell">
        <strong>{path}</strong>
        <span className="small quiet">{volume}</span>
      </div>
    ),
  },
  {
    id: "direction",
    title: say("direction"),
    value: ({ direction }) => say(direction === "up" ? "directionUp" : "directionDown"),
    isMinor: true,
  },
  { id: "name", title: say("deviceName"), value: nameOf },
  {
    id: "done",
    title: say("progress"),
    value: ({ doneBytes, totalBytes }) => (totalBytes === 0 ? 1 : doneBytes / totalBytes),
    text: ({ doneBytes, totalBytes }) => `${doneBytes}/${totalBytes}`,
    cell: ({ path, doneBytes, totalBytes }) => (
      <div className="progress-cell">
        <Progress share={totalBytes === 0 ? 1 : doneBytes / totalBytes} label={path} />
        <span className="small quiet">
          {say("transferDone", { done: formatBytes(doneBytes), total: formatBytes(totalBytes) })}
        </span>
      </div>
    ),
  },
  {
    id: "reused",
    title: say("reused"),
    value: ({ reusedBytes }) => reusedBytes,
    cell: ({ reusedBytes, totalBytes }) => (totalBytes === 0 ? "–" : formatPercent(reusedBytes / totalBytes)),
    isNumber: true,
    isMinor: true,
  },
  {
    id: "rate",
    title: say("rate"),
    value: ({ bytesPerSecond }) => bytesPerSecond,
    cell: ({ bytesPerSecond }) => formatRate(bytesPerSecond),
    isNumber: true,
  },
];
