// Volumes: what the server offers, and a new one from a folder below those that may be offered.
import { CirclePause, Ellipsis, FolderMinus, FolderPlus, HardDrive, Play } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { formatBytes, formatCount } from "@runnel/shared/ui/format.ts";
import { Button, IconButton } from "@runnel/shared/ui/widgets/button.tsx";
import { type Column, DataTable } from "@runnel/shared/ui/widgets/data-table.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { Menu } from "@runnel/shared/ui/widgets/menu.tsx";
import { Empty } from "@runnel/shared/ui/widgets/notice.tsx";
import { StateIcon } from "@runnel/shared/ui/widgets/state-icon.tsx";
import type { VolumeRow } from "../../src/live/rows.ts";
import { say, TABLE_WORDS, useConsole, useVolumes } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { MakeVolume } from "../parts/make-volume.tsx";
import { PageHead } from "../parts/page-head.tsx";

export function VolumesView(): ReactNode {
  const { me } = useConsole();
  const { lists, problem, again } = useVolumes();
  const [makes, setMakes] = useState(false);
  const isAdmin = me.role === "admin";
  const make = (
    <Button look="primary" icon={<FolderPlus size={16} aria-hidden="true" />} onClick={() => setMakes(true)}>
      {say("volumeMake")}
    </Button>
  );
  return (
    <>
      <PageHead title={say("navVolumes")} actions={isAdmin && make}>
        {say(isAdmin ? "volumesHint" : "volumesHintUser")}
      </PageHead>
      <Failed problem={problem} again={again} />
      <section className="card">
        <DataTable
          name={say("navVolumes")}
          words={TABLE_WORDS}
          columns={isAdmin ? COLUMNS : COLUMNS.filter(({ id }) => id === "name" || id === "size")}
          rows={lists.volumes}
          isFailed={problem !== ""}
          keyOf={({ name }) => name}
          order="name"
          {...(isAdmin ? { actions: (row: VolumeRow) => row.isMade && <VolumeMenu volume={row} again={again} /> } : {})}
          empty={
            <Empty
              icon={<HardDrive size={28} aria-hidden="true" />}
              title={say("volumesNone")}
              action={isAdmin && make}
            >
              {say(isAdmin ? "volumesNoneHint" : "volumesNoneHintUser")}
            </Empty>
          }
        />
      </section>
      {makes && (
        <MakeVolume
          close={() => {
            setMakes(false);
            again();
          }}
        />
      )}
    </>
  );
}

/** Stops a volume that was made here, serves it again, or removes it once it is stopped. */
function VolumeMenu({ volume, again }: { volume: VolumeRow; again(): void }): ReactNode {
  const { calls } = useConsole();
  const [asks, setAsks] = useState(false);
  const { name, isStopped, devices, devicesOn, folder } = volume;
  const serve = async (isServed: boolean): Promise<void> => {
    await calls.ask("setVolume", { name, isServed });
    again();
  };
  const remove = async (): Promise<void> => {
    await calls.ask("removeVolume", { name });
    again();
  };
  const resumes = {
    label: say("volumeResume"),
    icon: <Play size={16} aria-hidden="true" />,
    // The row says what is wrong with a volume.
    choose: () => void serve(true).catch(again),
  };
  const ends = {
    label: say(isStopped ? "volumeRemove" : "volumeStop"),
    icon: isStopped ? <FolderMinus size={16} aria-hidden="true" /> : <CirclePause size={16} aria-hidden="true" />,
    isDangerous: true,
    choose: () => setAsks(true),
  };
  return (
    <>
      <Menu items={isStopped ? [resumes, ends] : [ends]}>
        <IconButton label={say("volumeMenu", { name })} icon={<Ellipsis size={18} />} />
      </Menu>
      {asks && (
        <Confirm
          title={say(isStopped ? "volumeRemoveTitle" : "volumeStopTitle", { name })}
          consequence={
            isStopped
              ? say("volumeRemoveConsequence", { name, folder, count: devices })
              : say("volumeStopConsequence", { name, count: devicesOn })
          }
          act={ends.label}
          cancel={say("cancel")}
          close={() => setAsks(false)}
          confirm={() => (isStopped ? remove() : serve(false))}
        />
      )}
    </>
  );
}

const COLUMNS: readonly Column<VolumeRow>[] = [
  {
    id: "name",
    title: say("volumeName"),
    value: ({ name }) => name,
    cell: ({ name, state, problem, folder }) => (
      <div className="with-icon">
        <StateIcon state={state} />
        <div className="name-cell">
          <Link href={`/volumes/${encodeURIComponent(name)}`}>{name}</Link>
          <span className="small quiet">{problem === "" ? folder : problem}</span>
        </div>
      </div>
    ),
  },
  {
    id: "files",
    title: say("volumeFiles"),
    value: ({ files }) => files ?? 0,
    cell: ({ files }) => (files === null ? "–" : formatCount(files)),
    isNumber: true,
    isMinor: true,
  },
  {
    id: "size",
    title: say("size"),
    value: ({ bytes }) => bytes ?? 0,
    cell: ({ bytes }) => (bytes === null ? "–" : formatBytes(bytes)),
    isNumber: true,
  },
  {
    id: "devices",
    title: say("devices"),
    value: ({ devices }) => devices,
    cell: ({ devices, devicesOn }) => (
      <>
        {formatCount(devices)} <span className="small quiet">{say("devicesOn", { count: devicesOn })}</span>
      </>
    ),
    isNumber: true,
  },
];
