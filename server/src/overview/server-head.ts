// The one sentence about a server: how it stands, and what whoever runs it can do. Pure; the worst wins.
import type { StateName } from "../live/rows.ts";

export interface ServerHead {
  state: StateName;
  sentence: string;
  /** Null when there is nothing to do. */
  next: string | null;
}

export interface VolumeFacts {
  name: string;
  isStopped: boolean;
  isOpening: boolean;
  /** Why it cannot be served now; undefined: it is, or is being opened. */
  unavailable: string | undefined;
  /** Why what was saved does not come into the folder. */
  stuck: { path: string; sentence: string } | undefined;
  /** Changes that are not in the folder yet. */
  pending: number;
}

export interface DiskFacts {
  /** Contents: the names of volumes, or the server's data. */
  holds: string;
  freeBytes: number;
  totalBytes: number;
}

export interface ServerFacts {
  volumes: readonly VolumeFacts[];
  disks: readonly DiskFacts[];
  devicesOn: number;
  transfers: number;
}

/** From best to worst, as far as a server can be in them. */
const STATES = ["fine", "working", "attention"] as const;
/** A disk is about to run out with less than this share free, but for one that has much even so. */
const LOW_SHARE = 0.05;
const LOW_BYTES = 20 * 1024 ** 3;

export function serverHead(facts: ServerFacts): ServerHead {
  const heads = [...facts.volumes.flatMap(volumeHeads), ...facts.disks.flatMap(diskHeads), ...workingHeads(facts)];
  const state = STATES.findLast((each) => heads.some((head) => head.state === each));
  const worst = heads.filter((head) => head.state === state);
  const [first] = worst;
  if (first === undefined) return fineHead(facts);
  if (worst.length === 1 || first.state !== "attention") return first;
  return { ...first, sentence: `${first.sentence} And ${worst.length - 1} more.` };
}

/** Says how a volume stands: its state, and what is wrong with it, "" when nothing is. */
export function volumeProblem({ isStopped, unavailable, stuck }: VolumeFacts): { state: StateName; problem: string } {
  if (isStopped) return { state: "paused", problem: "Stopped by an administrator." };
  if (unavailable !== undefined) return { state: "attention", problem: unavailable };
  if (stuck !== undefined) return { state: "attention", problem: `${stuck.path}: ${stuck.sentence}` };
  return { state: "fine", problem: "" };
}

export function isLow({ freeBytes, totalBytes }: Pick<DiskFacts, "freeBytes" | "totalBytes">): boolean {
  return freeBytes < Math.min(LOW_SHARE * totalBytes, LOW_BYTES);
}

function volumeHeads(volume: VolumeFacts): ServerHead[] {
  const { name, stuck } = volume;
  const { state, problem } = volumeProblem(volume);
  if (state !== "attention") return [];
  if (stuck !== undefined && problem.startsWith(stuck.path)) {
    const sentence = `What was saved in ${name} does not come into its folder. ${problem}`;
    return [{ state, sentence, next: "Mend that in the folder. Nothing is lost, and it goes on by itself then." }];
  }
  const next = "It is served as soon as its folder can be read again.";
  return [{ state, sentence: `The volume ${name} cannot be served now: ${problem}`, next }];
}

function diskHeads(disk: DiskFacts): ServerHead[] {
  if (!isLow(disk)) return [];
  const { holds, freeBytes, totalBytes } = disk;
  const share = totalBytes === 0 ? 0 : Math.floor((freeBytes / totalBytes) * 100);
  const sentence =
    freeBytes === 0 ? `The disk with ${holds} is full.` : `The disk with ${holds} is nearly full: ${share} % are free.`;
  return [{ state: "attention", sentence, next: "Make room on it: once it is full, nothing can be saved." }];
}

function workingHeads({ volumes, transfers }: ServerFacts): ServerHead[] {
  const opening = volumes.filter(({ isOpening, isStopped }) => isOpening && !isStopped);
  const [first] = opening;
  if (first !== undefined) {
    const which = opening.length === 1 ? `The volume ${first.name} is` : `${opening.length} volumes are`;
    return [{ state: "working", sentence: `${which} being opened.`, next: null }];
  }
  if (transfers > 0) {
    const sentence = transfers === 1 ? "One file is on its way." : `${transfers} files are on their way.`;
    return [{ state: "working", sentence, next: null }];
  }
  return [];
}

function fineHead({ volumes, devicesOn }: ServerFacts): ServerHead {
  const served = volumes.filter(({ isStopped }) => !isStopped).length;
  if (served === 0) return { state: "fine", sentence: "No volume is served yet.", next: "Make one of a folder." };
  const what = served === 1 ? "1 volume is" : `${served} volumes are`;
  const who = devicesOn === 1 ? "1 device is" : `${devicesOn} devices are`;
  return { state: "fine", sentence: `All is well. ${what} served, ${who} connected.`, next: null };
}
