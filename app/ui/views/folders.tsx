// Folders: what a drive holds, what of it is on this computer, and what is kept there.
import {
  ArrowDownAZ,
  Cloud,
  Ellipsis,
  File as FileIcon,
  Folder,
  FolderOpen,
  Pause,
  HardDrive,
  HardDriveDownload,
  Pin,
  PinOff,
  Eraser,
} from "lucide-react";
import { type ReactNode, useCallback, useState } from "react";
import { Link, useSearchParams } from "wouter";
import { formatBytes, formatPercent } from "@runnel/shared/ui/format.ts";
import { CallFailure } from "@runnel/shared/ui/calls.ts";
import { useAnswer } from "@runnel/shared/ui/use-answer.ts";
import { Button, IconButton } from "@runnel/shared/ui/widgets/button.tsx";
import { Menu, type MenuItem } from "@runnel/shared/ui/widgets/menu.tsx";
import { Moment } from "@runnel/shared/ui/widgets/moment.tsx";
import { Empty, Failure, Notice, Pending, Skeleton } from "@runnel/shared/ui/widgets/notice.tsx";
import { Cell, Rows } from "@runnel/shared/ui/widgets/rows.tsx";
import type { FolderPage, FolderRow } from "../../src/agent/mount-status.ts";
import type { FolderOrder } from "../../src/agent/view/folder-list.ts";
import { type AgentView, say, useAgent } from "../agent.ts";
import type { WordId } from "../words/en.ts";
import { NoDrives, nameOf } from "./home.tsx";
import { OpenersDialog, openersItem } from "./openers.tsx";
import { pauseItems, resumeItem } from "./pause-items.tsx";

const ICON = 18;
const ROW_PIXELS = 52;
/** Rows that are asked for at once, around those that are seen. */
const ASKED = 300;
const STEP = 100;
/** Others change the drive: what is seen is asked for again so often. */
const AGAIN_MS = 2_000;
const ORDERS = { name: "orderName", size: "orderSize", modified: "orderModified" } as const satisfies Record<
  FolderOrder,
  WordId
>;

export function FoldersView({ view: { shown, problem } }: { view: AgentView }): ReactNode {
  const [params, setParams] = useSearchParams();
  const drives = shown?.lists.drives;
  const drive = drives?.find(({ key }) => key === params.get("drive")) ?? drives?.[0];
  const path = params.get("path") ?? "";
  const order = (params.get("order") ?? "name") as FolderOrder;
  if (drives === undefined)
    return (
      <Pending isFailed={problem !== ""}>
        <Skeleton height={300} />
      </Pending>
    );
  if (drive === undefined)
    return (
      <section className="card">
        <NoDrives />
      </section>
    );
  const go = (to: { drive?: string; path?: string; order?: string }): void =>
    setParams({ drive: drive.key, path, order, ...to });
  return (
    <section className="card folders">
      <header>
        <Crumbs drives={drives.map(({ key }) => key)} drive={drive.key} path={path} go={go} />
        <Menu
          items={Object.entries(ORDERS).map(([each, word]) => ({
            label: say(word),
            choose: () => go({ order: each }),
          }))}
        >
          <Button look="plain" icon={<ArrowDownAZ size={16} aria-hidden="true" />}>
            {say(ORDERS[order] ?? "orderName")}
          </Button>
        </Menu>
      </header>
      <FolderRows key={`${drive.key} ${path} ${order}`} mountpoint={drive.key} path={path} order={order} go={go} />
    </section>
  );
}

interface CrumbsProps {
  drives: readonly string[];
  drive: string;
  path: string;
  go(to: { drive?: string; path?: string }): void;
}

function Crumbs({ drives, drive, path, go }: CrumbsProps): ReactNode {
  const names = path.split("/").filter((name) => name !== "");
  return (
    <nav aria-label={say("foldersPath")} className="crumbs">
      {drives.length > 1 ? (
        <Menu
          items={drives.map((each) => ({
            label: nameOf(each),
            icon: <HardDrive size={16} aria-hidden="true" />,
            choose: () => go({ drive: each, path: "" }),
          }))}
        >
          <Button look="plain" icon={<HardDrive size={16} aria-hidden="true" />}>
            <span className="one-line">{nameOf(drive)}</span>
          </Button>
        </Menu>
      ) : (
        <Button look="plain" icon={<HardDrive size={16} aria-hidden="true" />} onClick={() => go({ path: "" })}>
          <span className="one-line">{nameOf(drive)}</span>
        </Button>
      )}
      {names.map((name, at) => (
        <span key={names.slice(0, at + 1).join("/")}>
          <span aria-hidden="true">/</span>
          <Button
            look="plain"
            aria-current={at === names.length - 1 ? "page" : undefined}
            onClick={() => go({ path: names.slice(0, at + 1).join("/") })}
          >
            <span className="one-line">{name}</span>
          </Button>
        </span>
      ))}
    </nav>
  );
}

interface PlaceProps {
  mountpoint: string;
  path: string;
  go(to: { path: string }): void;
}

/** An act that was refused, and can be tried again. */
interface Refusal {
  sentence: string;
  /** Lacks space that a setting gives. */
  isQuota: boolean;
  retry(): void;
}

function FolderRows({ mountpoint, path, order, go }: PlaceProps & { order: FolderOrder }): ReactNode {
  const { calls } = useAgent();
  const [from, setFrom] = useState(0);
  const [refusal, setRefusal] = useState<Refusal>();
  /** Path in the drive whose openers are shown. */
  const [asked, setAsked] = useState<string>();
  const onRange = useCallback((first: number, end: number) => {
    const middle = Math.max(0, (first + end - ASKED) / 2);
    setFrom(Math.floor(middle / STEP) * STEP);
  }, []);
  const request = { mountpoint, path, from, count: ASKED, order };
  const { result, problem, again } = useAnswer<FolderPage>(calls, "folder", request, AGAIN_MS);
  const act: RowProps["act"] = (verb, at, more = {}) => {
    calls.ask(verb, { path: `${mountpoint}/${at}`, ...more }).then(
      () => {
        setRefusal(undefined);
        again();
      },
      (error: Error) => {
        const isQuota = error instanceof CallFailure && error.kind === "Quota";
        setRefusal({ sentence: error.message, isQuota, retry: () => act(verb, at, more) });
      },
    );
  };
  const rows = new Map(result?.rows.map((row) => [row.index, row]));
  return (
    <>
      <Failure problem={problem} again={again} act={say("tryAgain")} />
      {refusal !== undefined && <Refused refusal={refusal} dismiss={() => setRefusal(undefined)} />}
      {result === undefined ? (
        <Pending isFailed={problem !== ""}>
          <Skeleton height={ROW_PIXELS} />
          <Skeleton height={ROW_PIXELS} />
        </Pending>
      ) : result.total === 0 ? (
        <Empty icon={<FolderOpen size={28} aria-hidden="true" />} title={say("folderEmpty")}>
          {say("folderEmptyHint")}
        </Empty>
      ) : (
        <>
          <Rows label={say("foldersRows")} total={result.total} height={ROW_PIXELS} onRange={onRange}>
            {(index) => {
              const row = rows.get(index);
              return row === undefined ? (
                <Cell>
                  <Skeleton height={ROW_PIXELS - 16} />
                </Cell>
              ) : (
                <Row
                  row={row}
                  at={path === "" ? row.name : `${path}/${row.name}`}
                  act={act}
                  go={go}
                  showOpeners={setAsked}
                />
              );
            }}
          </Rows>
          <p className="small quiet foot">{say("foldersCount", { count: result.total })}</p>
        </>
      )}
      {asked !== undefined && (
        <OpenersDialog path={`${mountpoint}/${asked}`} name={nameOf(asked)} close={() => setAsked(undefined)} />
      )}
    </>
  );
}

function Refused({ refusal: { sentence, isQuota, retry }, dismiss }: RefusedProps): ReactNode {
  return (
    <Notice tone="danger" icon={<Folder size={ICON} aria-hidden="true" />}>
      <p>{sentence}</p>
      <div className="row">
        <Button onClick={retry}>{say("tryAgain")}</Button>
        {isQuota && (
          <Link href="/settings" className="button">
            {say("navSettings")}
          </Link>
        )}
        <Button onClick={dismiss}>{say("dismiss")}</Button>
      </div>
    </Notice>
  );
}

interface RefusedProps {
  refusal: Refusal;
  dismiss(): void;
}

interface RowProps {
  row: FolderRow;
  at: string;
  act(verb: "pin" | "unpin" | "evict" | "pause" | "resume", at: string, more?: object): void;
  go(to: { path: string }): void;
  showOpeners(at: string): void;
}

function Row({ row, at, act, go, showOpeners }: RowProps): ReactNode {
  const { name, type, sizeBytes, mtimeMs, hereBytes, pin, pause } = row;
  const isFolder = type === "folder";
  const items: MenuItem[] = [
    pin?.isOwn === true
      ? { label: say("rowUnpin"), icon: <PinOff size={16} aria-hidden="true" />, choose: () => act("unpin", at) }
      : {
          label: say("rowPin"),
          icon: <Pin size={16} aria-hidden="true" />,
          isDisabled: pin !== null,
          choose: () => act("pin", at),
        },
    {
      label: say("rowEvict"),
      icon: <Eraser size={16} aria-hidden="true" />,
      isDisabled: pin !== null || hereBytes === 0,
      choose: () => act("evict", at),
    },
    ...(pause === null
      ? pauseItems((untilMs) => act("pause", at, { untilMs }))
      : [resumeItem(() => act("resume", at), !pause.isOwn)]),
    openersItem(() => showOpeners(at)),
  ];
  return (
    <div className="folder-row">
      {isFolder ? <Folder size={ICON} aria-hidden="true" /> : <FileIcon size={ICON} aria-hidden="true" />}
      <Cell className="one-line">
        {isFolder ? (
          <button type="button" className="link one-line" onClick={() => go({ path: at })}>
            {name}
          </button>
        ) : (
          <span className="one-line">{name}</span>
        )}
        <div className="details small quiet">
          {type === "file" && <span>{formatBytes(sizeBytes)}</span>}
          <Moment atMs={mtimeMs} />
        </div>
      </Cell>
      <Cell>
        <Here row={row} />
      </Cell>
      <Cell>
        <Menu items={items}>
          <IconButton label={say("rowMenu", { name })} icon={<Ellipsis size={ICON} />} />
        </Menu>
      </Cell>
    </div>
  );
}

/** Says where the bytes of a file are, and whether they are kept, or wait. */
function Here({ row: { type, sizeBytes, hereBytes, pin, pause } }: { row: FolderRow }): ReactNode {
  if (pause !== null)
    return (
      <span className="here small">
        <Pause size={14} aria-hidden="true" />
        {say("rowPaused", { until: pause.until })}
      </span>
    );
  if (pin !== null)
    return (
      <span className="here small">
        <Pin size={14} aria-hidden="true" />
        {keptWord(type === "file" && hereBytes !== null ? shareHere(hereBytes, sizeBytes) : pin.share)}
      </span>
    );
  if (type !== "file" || hereBytes === null) return null;
  if (hereBytes === 0 && sizeBytes > 0)
    return (
      <span className="here small quiet">
        <Cloud size={14} aria-hidden="true" />
        {say("rowThere")}
      </span>
    );
  return (
    <span className="here small quiet">
      <HardDriveDownload size={14} aria-hidden="true" />
      {hereBytes >= sizeBytes ? say("rowHere") : say("rowPart", { share: formatPercent(hereBytes / sizeBytes) })}
    </span>
  );
}

function shareHere(hereBytes: number, sizeBytes: number): number {
  return sizeBytes === 0 ? 1 : hereBytes / sizeBytes;
}

/** Says how much of what is kept is here, from 0 to 1; null: that is not known. */
function keptWord(share: number | null): string {
  if (share === null) return say("rowKeptAbove");
  if (share === 0) return say("rowNotHere");
  return share < 1 ? say("rowPart", { share: formatPercent(share) }) : say("rowKept");
}
