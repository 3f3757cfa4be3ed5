// Says how a mount is: its state, what waits, what went wrong.
import type { ServerStatus, MountStatus } from "../mount-status.ts";
import type { Pins } from "../pins/pins.ts";
import type { DrivePause } from "../pauses/drive-pause.ts";
import type { FolderPauses } from "../pauses/folder-pauses.ts";
import type { WriteBack } from "../changes/write-back.ts";
import type { OwnChanges } from "../changes/own-changes.ts";
import type { Saves } from "../drive/saving/saves.ts";
import type { UnsentSaves } from "../drive/saving/unsent.ts";
import type { FullDisks } from "../full-disks.ts";
import type { Session } from "../wire/session.ts";
import type { Colleagues } from "../colleagues/colleagues.ts";
import type { Conflicts } from "./conflicts.ts";
import type { Incidents } from "./incidents.ts";
import { colleaguesRest, foldersPaused, pausedSentence, rightChanged, sentenceOf } from "./sentences.ts";
import type { MountDeps } from "./mount-deps.ts";

export interface StatusDeps extends Pick<
  MountDeps,
  "settings" | "volume" | "isReadOnly" | "drive" | "replica" | "cache" | "log"
> {
  session: Session;
  unsent: UnsentSaves;
  saves: Pick<Saves, "countAwaited">;
  writeBack: Pick<WriteBack, "budget">;
  changes: OwnChanges;
  fullDisks: FullDisks;
  pins: Pins;
  drivePause: Pick<DrivePause, "status">;
  folderPauses: Pick<FolderPauses, "status">;
  incidents: Incidents;
  conflicts: Conflicts;
  colleagues: Pick<Colleagues, "restsForLine">;
  epoch(): string;
}

export async function statusOf(deps: StatusDeps, asksServer: boolean): Promise<MountStatus> {
  const { session, settings, isReadOnly, incidents } = deps;
  const server = asksServer && !session.isSuspended ? await serverStatus(deps) : null;
  const facts = deps.replica.facts();
  const unsent = deps.unsent.list();
  const unsentNames = deps.changes.treeChanges().size;
  const right = session.mayOnlyRead === isReadOnly ? [] : [rightChanged(session.mayOnlyRead)];
  const pause = deps.drivePause.status();
  const pausedFolders = deps.folderPauses.status();
  const mode = settings.isAsync ? "async" : "sync";
  const waiting = { unsentFiles: unsent.length, unsentNames };
  const rest = colleaguesRest(deps.colleagues.restsForLine);
  const state = session.isResponsive ? (facts?.isWhole === true ? "connected" : "listing") : "offline";
  return {
    url: settings.url,
    volume: deps.volume,
    mountpoint: settings.mountpoint,
    state,
    hasLease: session.hasLease,
    isReadOnly,
    refusal: session.isResponsive || pause !== null ? null : (session.refusal ?? null),
    pause,
    pausedFolders,
    sentence:
      pause === null
        ? `${sentenceOf(state, waiting, session.refusal, isReadOnly)}${foldersPaused(pausedFolders)}${rest}`
        : pausedSentence(pause.until, { mode, ...waiting }),
    epoch: deps.epoch(),
    seq: facts?.seq ?? 0,
    mode,
    ...waiting,
    unsentBytes: unsent.reduce((sum, commit) => sum + commit.sizeBytes, 0),
    awaitedFiles: deps.saves.countAwaited(),
    waiting: deps.changes.waiting(),
    conflicts: deps.conflicts.list(),
    problems: [
      ...right,
      ...(await deps.fullDisks.problems()),
      ...[deps.writeBack.budget.problem()].filter((sentence) => sentence !== undefined),
      ...deps.unsent.problems(),
      ...deps.pins.problems(),
      ...incidents.problems(),
    ],
    pins: deps.pins.status(),
    pinsLackBytes: deps.pins.lackingBytes(),
    cacheBytes: deps.cache.usedBytes(),
    cacheLimitBytes: settings.cacheBytes,
    address: deps.drive.address ?? null,
    isKept: settings.isKept === true,
    pid: process.pid,
    server,
  };
}

async function serverStatus({ conflicts, log }: StatusDeps): Promise<ServerStatus | null> {
  try {
    return (await conflicts.status()).server;
  } catch (error) {
    log("The server could not be asked how it is.", error);
    return null;
  }
}
