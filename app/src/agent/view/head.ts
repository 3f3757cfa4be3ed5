// The one sentence about all drives, for icon, tooltip, window and command line: how it stands, and what a person can
// do. Pure; the worst state wins.
import { quoted } from "../control/quoted.ts";
import { formatLeft } from "./format-left.ts";
import type { LiveTransfer } from "./transfers.ts";

/** From best to worst. */
export const VIEW_STATES = ["fine", "working", "paused", "offline", "attention"] as const;
export type ViewState = (typeof VIEW_STATES)[number];

/** Acts that a person may do next. */
export const HEAD_ACTS = ["add", "drives", "conflicts", "resume"] as const;
export type HeadAct = (typeof HEAD_ACTS)[number];

export interface Head {
  state: ViewState;
  sentence: string;
  /** Something that a person can do, at a terminal where it takes a command; null when there is nothing to do. */
  next: string | null;
  /** The same for a window: to map a drive, to look at drives or conflicts, to resume; null without a command. */
  act: HeadAct | null;
}

/** A drive, as far as the sentence depends on it. */
export interface DriveFacts {
  url: string;
  mountpoint: string;
  state: "listing" | "connected" | "offline";
  isReadOnly: boolean;
  pause: { until: string } | null;
  pausedFolders: readonly { path: string; until: string }[];
  refusal: string | null;
  unsentFiles: number;
  unsentNames: number;
  conflicts: readonly { path: string }[];
  problems: readonly string[];
}

export interface HeadFacts {
  drives: readonly DriveFacts[];
  /** Drives that an earlier agent did not end. */
  lost: readonly { url: string; mountpoint: string }[];
  transfers: readonly Pick<LiveTransfer, "direction" | "files" | "leftMs" | "waitsFor">[];
}

const SEE_STATUS = "See more: runnel status";
const NOTHING_TO_DO = { next: null, act: null };
const WORKING = { state: "working", ...NOTHING_TO_DO } as const;

export function headOf({ drives, lost, transfers }: HeadFacts): Head {
  const heads = [
    ...lost.map(lostHead),
    ...drives.flatMap(attentionOf),
    ...[offlineHead(drives), pausedHead(drives), workingHead(drives, transfers)].filter((head) => head !== undefined),
  ];
  const state = VIEW_STATES.findLast((each) => heads.some((head) => head.state === each));
  const worst = heads.filter((head) => head.state === state);
  const [first] = worst;
  if (first === undefined) return fineHead(drives);
  if (worst.length === 1) return first;
  const act = worst.every((head) => head.act === first.act) ? first.act : "drives";
  return { ...first, sentence: `${first.sentence} And ${worst.length - 1} more.`, next: SEE_STATUS, act };
}

function lostHead({ url, mountpoint }: { url: string; mountpoint: string }): Head {
  const sentence = `The agent ended without unmounting ${mountpoint}.`;
  const next = `Map it again: runnel mount ${url} ${quoted(mountpoint)}`;
  return { state: "attention", sentence, next, act: "drives" };
}

function attentionOf({ mountpoint, refusal, problems, conflicts }: DriveFacts): Head[] {
  const state = "attention";
  const see = { state, next: SEE_STATUS, act: "drives" } as const;
  return [
    ...(refusal === null ? [] : [{ ...see, sentence: `${mountpoint}: ${refusal}` }]),
    ...problems.map((sentence) => ({ ...see, sentence })),
    ...conflicts.map(({ path }) => {
      const sentence = `${path} was changed in two places. Both are kept.`;
      return { state, sentence, next: "Compare the two: runnel status names the other.", act: "conflicts" } as const;
    }),
  ];
}

/** Speaks for all drives that are offline. */
function offlineHead(drives: readonly DriveFacts[]): Head | undefined {
  const offline = drives.filter((drive) => drive.state === "offline" && drive.refusal === null && drive.pause === null);
  const [first] = offline;
  if (first === undefined) return undefined;
  const waiting = unsentOf(offline);
  const which = offline.length === drives.length ? "Offline." : `Offline: ${namesOf(offline)}.`;
  const rest = waiting === 0 ? "Files in the cache can be read." : `${countOf(waiting)} and will be sent.`;
  const next = "It goes on by itself once the server answers.";
  return { state: "offline", sentence: `${which} ${rest}`, next, act: null };
}

function pausedHead(drives: readonly DriveFacts[]): Head | undefined {
  const paused = drives.flatMap(({ mountpoint, pause, pausedFolders }) =>
    pause === null
      ? pausedFolders.map(({ path, until }) => ({ mountpoint: `${mountpoint}/${path}`, until }))
      : [{ mountpoint, until: pause.until }],
  );
  if (paused.length === 0) return undefined;
  const waiting = unsentOf(drives.filter(({ pause, pausedFolders }) => pause !== null || pausedFolders.length > 0));
  const ends = [...new Set(paused.map(({ until }) => until))];
  const until = ends.length === 1 ? ` ${ends[0]}` : "";
  const isAll = drives.every(({ pause }) => pause !== null);
  const which = isAll ? `Paused${until}.` : `Paused${until}: ${namesOf(paused)}.`;
  return {
    state: "paused",
    sentence: waiting === 0 ? which : `${which} ${countOf(waiting)}.`,
    next: "Resume it to go on: runnel resume",
    act: "resume",
  };
}

function workingHead(drives: readonly DriveFacts[], transfers: HeadFacts["transfers"]): Head | undefined {
  const waitsFor = [...new Set(transfers.flatMap((transfer) => transfer.waitsFor))];
  const up = transfers.filter(({ direction }) => direction === "up");
  const down = transfers.filter(({ direction }) => direction === "down");
  const [uploads, downloads] = [filesOf(up), filesOf(down)];
  const acts = [
    ...(uploads === 0 ? [] : [`uploading ${filesWord(uploads)}`]),
    ...(downloads === 0 ? [] : [`downloading ${filesWord(downloads)}`]),
  ];
  if (acts.length > 0) {
    const left = longestLeft(transfers);
    const time = left === undefined ? "" : `, ${formatLeft(left)} left`;
    const waiting = waitsFor.length === 0 ? "" : ` Waiting for ${waitsFor.slice(0, 3).join(", ")}.`;
    return { ...WORKING, sentence: `${capital(acts.join(", "))}${time}.${waiting}` };
  }
  const waiting = unsentOf(drives.filter(({ state }) => state !== "offline"));
  if (waiting > 0) return { ...WORKING, sentence: `${countOf(waiting)} and will be sent.` };
  const listing = drives.filter(({ state }) => state === "listing");
  if (listing.length === 0) return undefined;
  return { ...WORKING, sentence: `Connected, reading the folder list of ${namesOf(listing)}.` };
}

function fineHead(drives: readonly DriveFacts[]): Head {
  const state = "fine";
  if (drives.length === 0)
    return {
      state,
      sentence: "No drives are mounted.",
      next: "Map one: runnel mount ws://HOST:PORT/VOLUME MOUNTPOINT",
      act: "add",
    };
  if (drives.every(({ isReadOnly }) => isReadOnly))
    return { state, sentence: "Connected. The drives can only be read.", ...NOTHING_TO_DO };
  return { state, sentence: "Everything is saved on the server.", ...NOTHING_TO_DO };
}

/** All of them are done when the last one is; undefined while that of one cannot be told. */
function longestLeft(transfers: HeadFacts["transfers"]): number | undefined {
  let longest = 0;
  for (const { leftMs } of transfers) {
    if (leftMs === null) return undefined;
    longest = Math.max(longest, leftMs);
  }
  return longest;
}

function filesOf(transfers: HeadFacts["transfers"]): number {
  return transfers.reduce((sum, { files }) => sum + files, 0);
}

function unsentOf(drives: readonly DriveFacts[]): number {
  return drives.reduce((sum, { unsentFiles, unsentNames }) => sum + unsentFiles + unsentNames, 0);
}

function filesWord(count: number): string {
  return count === 1 ? "1 file" : `${count} files`;
}

function countOf(changes: number): string {
  return changes === 1 ? "1 change waits" : `${changes} changes wait`;
}

function namesOf(drives: readonly Pick<DriveFacts, "mountpoint">[]): string {
  const named = drives.slice(0, 3).map(({ mountpoint }) => mountpoint);
  return drives.length > named.length
    ? `${named.join(", ")} and ${drives.length - named.length} more`
    : named.join(", ");
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
