// Home: how the drives are, whether the machine may be switched off, what moves now, what happened lately.
import {
  ArrowDown,
  ArrowUp,
  Ellipsis,
  FolderOpen,
  HardDrive,
  Plus,
  Power,
  PowerOff,
  Send,
  Trash2,
  Unplug,
} from "lucide-react";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { formatBytes, formatDuration, formatPercent, formatRate } from "@runnel/shared/ui/format.ts";
import { Button, IconButton } from "@runnel/shared/ui/widgets/button.tsx";
import { Confirm } from "@runnel/shared/ui/widgets/dialog.tsx";
import { Menu } from "@runnel/shared/ui/widgets/menu.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Notice, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { Progress } from "@runnel/shared/ui/widgets/progress.tsx";
import { StateIcon } from "@runnel/shared/ui/widgets/state-icon.tsx";
import type { ActivityItem } from "../../src/agent/view/history.ts";
import type { DriveItem, TransferItem, UnmappedItem } from "../../src/agent/view/views.ts";
import { type AgentView, say, useAgent } from "../agent.ts";
import { isPausedSomewhere, mayStop, unsentOf } from "./may-stop.ts";
import { pauseItems, resumeItem } from "./pause-items.tsx";

const ICON = 18;
const ROW_PIXELS = 56;

const MAY_STOP_WORDS = {
  yes: "mayStopYes",
  sending: "mayStopSending",
  paused: "mayStopPaused",
  offline: "mayStopOffline",
  waiting: "mayStopNo",
} as const;

export function HomeView({ view: { line, shown, problem } }: { view: AgentView }): ReactNode {
  if (shown === undefined) {
    return (
      <Pending isFailed={problem !== ""}>
        <Skeleton height={ROW_PIXELS} />
        <Skeleton height={2 * ROW_PIXELS} />
        <Skeleton height={2 * ROW_PIXELS} />
      </Pending>
    );
  }
  const { drives = [], unmapped = [], transfers = [], lately = [] } = shown.lists;
  return (
    <>
      {line === "live" && <MayStop drives={drives} transfers={transfers} />}
      <Section title={say("drives")} items={[...drives, ...unmapped]} empty={<NoDrives />}>
        {(drive) =>
          "isLost" in drive ? <UnmappedRow key={drive.key} drive={drive} /> : <DriveRow key={drive.key} drive={drive} />
        }
      </Section>
      <Section
        title={say("now")}
        items={transfers}
        hidden={shown.omitted.transfers ?? 0}
        empty={<p className="empty-line">{say("nothingMoves")}</p>}
      >
        {(transfer) => <TransferRow key={transfer.key} transfer={transfer} />}
      </Section>
      <Section
        title={say("lately")}
        items={lately.toSorted((one, other) => other.toMs - one.toMs)}
        hidden={shown.omitted.lately ?? 0}
        empty={<p className="empty-line">{say("nothingLately")}</p>}
      >
        {(event) => <EventRow key={event.key} event={event} />}
      </Section>
    </>
  );
}

interface SectionProps<Item> {
  title: string;
  items: readonly Item[];
  hidden?: number;
  empty: ReactNode;
  children(item: Item): ReactNode;
}

function Section<Item>({ title, items, hidden = 0, empty, children }: SectionProps<Item>): ReactNode {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
      </header>
      {items.length === 0 ? empty : <ul className="items">{items.map((item) => children(item))}</ul>}
      {hidden > 0 && <p className="empty-line small">{say("andMore", { count: hidden })}</p>}
    </section>
  );
}

interface MayStopProps {
  drives: readonly DriveItem[];
  transfers: readonly TransferItem[];
}

/** Answers the question that a person has before closing the lid, which only an agent that answers can. */
function MayStop({ drives, transfers }: MayStopProps): ReactNode {
  if (drives.length === 0) return null;
  const { answer, count, bytes } = mayStop(drives, transfers);
  const said = say(MAY_STOP_WORDS[answer], { count, size: formatBytes(bytes) });
  if (answer === "yes") return <Notice icon={<PowerOff size={ICON} aria-hidden="true" />}>{said}</Notice>;
  return (
    <Notice tone="warning" icon={<Power size={ICON} aria-hidden="true" />}>
      {said}
    </Notice>
  );
}

export function NoDrives(): ReactNode {
  return (
    <Empty
      icon={<HardDrive size={28} aria-hidden="true" />}
      title={say("noDrives")}
      action={
        <Link href="/add" className="button primary">
          <Plus size={ICON} aria-hidden="true" />
          {say("navAdd")}
        </Link>
      }
    >
      {say("noDrivesHint")}
    </Empty>
  );
}

function DriveRow({ drive }: { drive: DriveItem }): ReactNode {
  const { calls } = useAgent();
  const {
    key: mountpoint,
    url,
    state,
    sentence,
    unsentBytes,
    cacheBytes,
    cacheLimitBytes,
    pinsLackBytes,
    problems,
    pausedUntil,
  } = drive;
  const unsent = unsentOf(drive);
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState("");
  const ask = (verb: string, request: object): void => {
    calls.ask(verb, request).then(
      () => setProblem(""),
      (error: Error) => setProblem(error.message),
    );
  };
  const open = (): void => ask("open", { mountpoint, path: "" });
  const flush = (): void => ask("flush", { mountpoint, applied: false });
  return (
    <li>
      <StateIcon state={state} />
      <div>
        <strong>{nameOf(mountpoint)}</strong> <span className="quiet">{sentence}</span>
        <div className="details small quiet">
          <span className="one-line">{mountpoint}</span>
          <span className="one-line">{url}</span>
          <span>{say("driveCache", { size: formatBytes(cacheBytes), limit: formatBytes(cacheLimitBytes) })}</span>
          {unsent > 0 && <span>{say("driveUnsent", { count: unsent, size: formatBytes(unsentBytes) })}</span>}
        </div>
        {[...problems, ...(problem === "" ? [] : [problem])].map((each) => (
          <p key={each} className="small error">
            {each}
          </p>
        ))}
        {pinsLackBytes > 0 && (
          <Link href="/settings" className="small">
            {say("driveGiveSpace")}
          </Link>
        )}
      </div>
      <Menu
        items={[
          { label: say("driveOpen"), icon: <FolderOpen size={16} aria-hidden="true" />, choose: open },
          { label: say("driveFlush"), icon: <Send size={16} aria-hidden="true" />, choose: flush },
          ...(pausedUntil === null ? pauseItems((untilMs) => ask("pause", { path: mountpoint, untilMs })) : []),
          ...(isPausedSomewhere(drive) ? [resumeItem(() => ask("resume", { path: mountpoint }))] : []),
          {
            label: say("driveUnmount"),
            icon: <Trash2 size={16} aria-hidden="true" />,
            isDangerous: true,
            choose: () => setAsking(true),
          },
        ]}
      >
        <IconButton label={say("driveMenu", { name: nameOf(mountpoint) })} icon={<Ellipsis size={ICON} />} />
      </Menu>
      {isAsking && (
        <Confirm
          title={say("unmountTitle", { name: nameOf(mountpoint) })}
          consequence={say("unmountConsequence")}
          act={say("driveUnmount")}
          cancel={say("cancel")}
          close={() => setAsking(false)}
          confirm={async () => {
            await calls.ask("unmount", { mountpoint, force: false });
          }}
        />
      )}
    </li>
  );
}

/** Shows a drive that was there, and what can be done about it. */
function UnmappedRow({ drive: { key: mountpoint, url, isLost } }: { drive: UnmappedItem }): ReactNode {
  const { calls } = useAgent();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const mapAgain = async (): Promise<void> => {
    setBusy(true);
    try {
      await calls.ask("mount", { url, mountpoint });
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <li>
      <Unplug size={ICON} aria-hidden="true" />
      <div>
        <strong>{nameOf(mountpoint)}</strong>{" "}
        <span className="quiet">{say(isLost ? "driveLost" : "driveResting")}</span>
        <div className="details small quiet">
          <span className="one-line">{mountpoint}</span>
          <span className="one-line">{url}</span>
        </div>
        {problem !== "" && <p className="small error">{problem}</p>}
        <div className="row">
          <Button disabled={isBusy} onClick={() => void mapAgain()}>
            {say(isBusy ? "addDoing" : "driveMapAgain")}
          </Button>
          <Button onClick={() => setAsking(true)}>{say("driveForget")}</Button>
        </div>
      </div>
      <span />
      {isAsking && (
        <Confirm
          title={say("forgetTitle", { name: nameOf(mountpoint) })}
          consequence={say("forgetConsequence")}
          act={say("driveForget")}
          cancel={say("cancel")}
          close={() => setAsking(false)}
          confirm={async () => {
            await calls.ask("unmount", { mountpoint, force: false });
          }}
        />
      )}
    </li>
  );
}

function TransferRow({ transfer }: { transfer: TransferItem }): ReactNode {
  const { direction, path, files, totalBytes, doneBytes, reusedBytes, bytesPerSecond, leftMs, waitsFor } = transfer;
  const isUpload = direction === "up";
  const details = [
    say("transferDone", { done: formatBytes(doneBytes), total: formatBytes(totalBytes) }),
    ...(bytesPerSecond > 0 ? [formatRate(bytesPerSecond)] : []),
    ...(reusedBytes > 0 ? [say("transferReused", { share: formatPercent(reusedBytes / totalBytes) })] : []),
    ...(leftMs === null ? [] : [say("transferLeft", { time: formatDuration(leftMs) })]),
    ...(waitsFor.length === 0 ? [] : [say("transferWaits", { who: waitsFor.join(", ") })]),
  ];
  return (
    <li>
      {isUpload ? <ArrowUp size={ICON} aria-hidden="true" /> : <ArrowDown size={ICON} aria-hidden="true" />}
      <div className="one-line">
        <span className="unseen">{say(isUpload ? "uploading" : "downloading")}</span>
        <div className="one-line">{files > 1 ? `${path} (${say("transferFiles", { count: files })})` : path}</div>
        <Progress share={totalBytes === 0 ? 1 : doneBytes / totalBytes} label={path} />
        <div className="details small quiet">
          {details.map((each) => (
            <span key={each}>{each}</span>
          ))}
        </div>
      </div>
      <span />
    </li>
  );
}

function EventRow({ event: { sentence, toMs } }: { event: ActivityItem }): ReactNode {
  return (
    <li className="event">
      <span>{sentence}</span>
      <span className="small quiet">
        <Moment atMs={toMs} />
      </span>
    </li>
  );
}

export function nameOf(mountpoint: string): string {
  return mountpoint.split(/[/\\]/).findLast((part) => part !== "") ?? mountpoint;
}
