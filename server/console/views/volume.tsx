// A volume: its files as its drives show them, and whose devices have rights on it.
import { ChevronRight, File, FileSymlink, Folder, FolderOpen, Plus } from "lucide-react";
import { Fragment, type ReactNode, useState } from "react";
import { formatBytes } from "@runnel/shared/ui/format.ts";
import { useUrlValue } from "@runnel/shared/ui/use-url.ts";
import { Button } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import type { BrowseRow } from "../../src/live/rows.ts";
import type { DeviceRow } from "../api.ts";
import { say, TABLE_WORDS, useConsole, useServer, useServerRows } from "../console.ts";
import { Devices } from "../parts/devices.tsx";
import { Failed } from "../parts/failed.tsx";
import { MakeInvite } from "../parts/make-invite.tsx";
import { PageHead, Tabs } from "../parts/page-head.tsx";

const ICON = 18;

export function VolumeView({ name, tab }: { name: string; tab: string }): ReactNode {
  const { me } = useConsole();
  const [invites, setInvites] = useState(false);
  const isAdmin = me.role === "admin";
  const path = `/volumes/${encodeURIComponent(name)}`;
  return (
    <>
      <PageHead
        title={name}
        back={{ href: "/volumes", label: say("navVolumes") }}
        actions={
          isAdmin && (
            <Button look="primary" icon={<Plus size={16} aria-hidden="true" />} onClick={() => setInvites(true)}>
              {say("inviteMake")}
            </Button>
          )
        }
      />
      {isAdmin && (
        <Tabs
          label={name}
          tabs={[
            { href: path, label: say("files") },
            { href: `${path}/people`, label: say("volumePeople") },
          ]}
        />
      )}
      {isAdmin && tab === "people" ? (
        <PeopleOf volume={name} invite={() => setInvites(true)} />
      ) : (
        <Files volume={name} />
      )}
      {invites && <MakeInvite volume={name} close={() => setInvites(false)} />}
    </>
  );
}

function PeopleOf({ volume, invite }: { volume: string; invite(): void }): ReactNode {
  const { result, problem, again } = useServer<{ devices: DeviceRow[] }>("devices");
  const devices = result?.devices.filter(
    ({ revokedMs, volumes }) => revokedMs === null && volumes.some(({ name }) => name === volume),
  );
  return (
    <>
      <Failed problem={problem} again={again} />
      <section className="card">
        <Devices devices={devices} isFailed={problem !== ""} again={again} invite={invite} />
      </section>
    </>
  );
}

function Files({ volume }: { volume: string }): ReactNode {
  const [path, setPath] = useUrlValue("path");
  const [, setSearch] = useUrlValue("q");
  const { result, problem, again } = useServerRows<BrowseRow>("browse", "entries", { volume, path });
  const open = (to: string): void => {
    setSearch("");
    setPath(to);
  };
  return (
    <>
      <Failed problem={problem} again={again} />
      <section className="card">
        <header>
          <Crumbs volume={volume} path={path} open={open} />
        </header>
        <DataTable
          name={say("files")}
          words={TABLE_WORDS}
          columns={columns((name) => open(path === "" ? name : `${path}/${name}`))}
          rows={result?.rows}
          isFailed={problem !== ""}
          keyOf={({ name }) => name}
          order="name"
          empty={
            <Empty icon={<FolderOpen size={28} aria-hidden="true" />} title={say("folderEmpty")}>
              {say("folderEmptyHint")}
            </Empty>
          }
        />
        {result?.isWhole === false && (
          <p className="empty-line small">{say("listCut", { count: result.rows.length })}</p>
        )}
      </section>
    </>
  );
}

function Crumbs(props: { volume: string; path: string; open(path: string): void }): ReactNode {
  const { volume, path, open } = props;
  const names = path.split("/").filter((name) => name !== "");
  return (
    <nav className="crumbs" aria-label={say("folderPath")}>
      {[volume, ...names].map((name, index) => {
        const to = names.slice(0, index).join("/");
        const isHere = index === names.length;
        return (
          <Fragment key={`${index}/${name}`}>
            {index > 0 && <ChevronRight size={14} className="quiet" aria-hidden="true" />}
            {isHere ? (
              <strong aria-current="page">{name}</strong>
            ) : (
              <button type="button" onClick={() => open(to)}>
                {name}
              </button>
            )}
          </Fragment>
        );
      })}
    </nav>
  );
}

const KIND_ICONS = { folder: Folder, file: File, link: FileSymlink, other: File } as const;

function columns(open: (name: string) => void): readonly Column<BrowseRow>[] {
  return [
    {
      id: "name",
      title: say("fileName"),
      // Folders stand above files.
      value: ({ name, kind }) => (kind === "folder" ? `0 ${name}` : `1 ${name}`),
      text: ({ name }) => name,
      cell: ({ name, kind }) => {
        const Icon = KIND_ICONS[kind];
        return (
          <div className="with-icon">
            <Icon size={ICON} className="quiet" aria-hidden="true" />
            {kind === "folder" ? (
              <button type="button" className="link" onClick={() => open(name)}>
                {name}
              </button>
            ) : (
              <span>{name}</span>
            )}
          </div>
        );
      },
    },
    {
      id: "size",
      title: say("size"),
      value: ({ bytes }) => bytes,
      cell: ({ bytes, kind }) => (kind === "file" ? formatBytes(bytes) : ""),
      isNumber: true,
    },
    {
      id: "changed",
      title: say("changed"),
      value: ({ changedMs }) => changedMs,
      text: ({ changedMs }) => new Date(changedMs).toISOString(),
      cell: ({ changedMs }) => <Moment atMs={changedMs} />,
      isMinor: true,
    },
  ];
}
