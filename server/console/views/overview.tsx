// Overview: is the server healthy, who is on, how much was saved, is storage running out.
import { Database, HardDrive } from "lucide-react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { formatBytes, formatCount, formatPercent } from "@runnel/shared/ui/format.ts";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { StateIcon } from "@runnel/shared/ui/widgets/state-icon.tsx";
import type { Overview, VolumeRow } from "../../src/live/rows.ts";
import { say, useOverview } from "../console.ts";
import { Failed } from "../parts/failed.tsx";
import { PageHead } from "../parts/page-head.tsx";

/** Share of a disk from which on a person should look after it. */
const FULL_SHARE = 0.9;
const HEALTH_PIXELS = 68;
const FIGURE_PIXELS = 118;
const STORAGE_PIXELS = 150;

export function OverviewView(): ReactNode {
  const { head, lists, problem, again } = useOverview("volumes");
  return (
    <>
      <PageHead title={say("navOverview")} />
      <Failed problem={problem} again={again} />
      {head === undefined ? (
        <Pending isFailed={problem !== ""}>
          <Skeleton height={HEALTH_PIXELS} />
          <Skeleton height={FIGURE_PIXELS} />
          <Skeleton height={STORAGE_PIXELS} />
        </Pending>
      ) : (
        <>
          <Health overview={head} />
          <Figures overview={head} />
          <Storage overview={head} volumes={lists.volumes ?? []} />
        </>
      )}
    </>
  );
}

function Health({ overview: { state, sentence, next, server } }: { overview: Overview }): ReactNode {
  return (
    <section className="card health" aria-label={say("health")}>
      <StateIcon state={state} size={26} />
      <div role="status">
        <h2>{sentence}</h2>
        {next !== null && <p className="small quiet">{next}</p>}
      </div>
      <p className="small quiet">
        {say("serverVersion", { version: server.version })} <Moment atMs={server.startedMs} />
      </p>
    </section>
  );
}

function Figures({ overview }: { overview: Overview }): ReactNode {
  const { devicesOn, devices, connections, transfers, workedBytes, wireBytes } = overview;
  const savedShare = workedBytes === 0 ? 0 : Math.max(0, 1 - wireBytes / workedBytes);
  return (
    <div className="figures">
      <Link href="/live" className="card figure">
        <span className="quiet">{say("figureOn")}</span>
        <span className="value">{formatCount(devicesOn)}</span>
        <span className="small quiet">{say("figureOnOf", { devices, connections })}</span>
      </Link>
      <div className="card figure">
        <span className="quiet">{say("figureSaved")}</span>
        <span className="value">{workedBytes === 0 ? "–" : formatPercent(savedShare)}</span>
        <span className="small quiet">
          {workedBytes === 0
            ? say("figureSavedNone")
            : say("figureSavedOf", { worked: formatBytes(workedBytes), crossed: formatBytes(wireBytes) })}
        </span>
      </div>
      <Link href="/live/transfers" className="card figure">
        <span className="quiet">{say("figureTransfers")}</span>
        <span className="value">{formatCount(transfers)}</span>
        <span className="small quiet">{say(transfers === 0 ? "figureTransfersNone" : "figureTransfersSome")}</span>
      </Link>
    </div>
  );
}

function Storage({ overview, volumes }: { overview: Overview; volumes: readonly VolumeRow[] }): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{say("storage")}</h2>
      </header>
      {volumes.length === 0 ? (
        <Empty
          icon={<HardDrive size={28} aria-hidden="true" />}
          title={say("volumesNone")}
          action={
            <Link href="/volumes" className="button primary">
              {say("volumesGo")}
            </Link>
          }
        >
          {say("volumesNoneHint")}
        </Empty>
      ) : (
        <ul className="lines">
          {volumes.map((volume) => (
            <StorageRow key={volume.name} volume={volume} />
          ))}
          <DataRow overview={overview} />
        </ul>
      )}
    </section>
  );
}

function StorageRow({ volume }: { volume: VolumeRow }): ReactNode {
  const { name, state, problem, bytes, freeBytes, totalBytes } = volume;
  return (
    <li>
      <StateIcon state={state} />
      <div className="name-cell">
        <Link href={`/volumes/${encodeURIComponent(name)}`}>{name}</Link>
        <span className="small quiet">
          {problem !== ""
            ? problem
            : bytes === null
              ? say("volumeCounting")
              : say("volumeHolds", { size: formatBytes(bytes) })}
        </span>
      </div>
      <DiskMeter freeBytes={freeBytes} totalBytes={totalBytes} />
    </li>
  );
}

/** Shows the disk with the server's own logs and indexes. */
function DataRow({ overview: { dataFreeBytes, dataTotalBytes } }: { overview: Overview }): ReactNode {
  return (
    <li>
      <Database size={20} className="quiet" aria-hidden="true" />
      <div className="name-cell">
        <span>{say("dataFolder")}</span>
        <span className="small quiet">{say("dataFolderHint")}</span>
      </div>
      <DiskMeter freeBytes={dataFreeBytes} totalBytes={dataTotalBytes} />
    </li>
  );
}

/** Shows how full a disk is, and nothing of one that does not say. */
function DiskMeter({ freeBytes, totalBytes }: { freeBytes: number | null; totalBytes: number | null }): ReactNode {
  if (freeBytes === null || totalBytes === null) return null;
  const share = totalBytes === 0 ? 0 : 1 - freeBytes / totalBytes;
  return (
    <div className="disk">
      <div className={share > FULL_SHARE ? "meter warning" : "meter"} aria-hidden="true">
        <div style={{ width: `${100 * share}%` }} />
      </div>
      <span className="small quiet">
        {say("diskFree", { size: formatBytes(freeBytes), total: formatBytes(totalBytes) })}
      </span>
    </div>
  );
}
