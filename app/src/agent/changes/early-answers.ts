// Changes that the drive answers before this side hears of them: when it may, and what a killed process left of them.
import { basename } from "node:path";
import type { Drive, DriveRequest, Early, LeftEarly } from "@runnel/native/drive";
import { leftEarly } from "@runnel/native/drive";
import type { Clock } from "@runnel/shared";
import { ROOT_NODE, wallMs } from "@runnel/shared";
import type { Journal } from "../journal/journal.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Session } from "../wire/session.ts";
import type { OwnChanges } from "./own-changes.ts";

/** The file that keeps them until this side has them in its journal, and what a former process left in it. */
export interface EarlyLog {
  path: string;
  boot: string;
  left: LeftEarly;
}

/** Reads the file; of boot "" it has nothing. */
export function readEarlyLog(path: string, boot: string): EarlyLog {
  return { path, boot, left: leftEarly(path, boot) };
}

/** Names files below the journal's data/ that contents which were left lie in. */
export function filesLeft({ left }: EarlyLog): ReadonlySet<string> {
  const layers = left.requests.flatMap((request) => (request.op === "commit" ? request.layers : []));
  return new Set(layers.map(({ path }) => basename(path)));
}

export interface EarlyAnswersDeps {
  drive: Drive;
  clock: Clock;
  session: Session;
  pauses: Passages;
  journal: Journal;
  changes: OwnChanges;
  earlyLog: EarlyLog;
  /** Set where what a program makes here belongs to it, and is shown so. */
  isOwnerShown: boolean;
  epoch(): string;
  log(message: string, error: unknown): void;
}

/** Numbers of changes that are kept for what the drive may answer before this side says that it may not. */
const NUMBERS_KEPT = 20_000;
/** Node ids that the drive has at a time for what it makes, and of which it is given others when it has so few left. */
const NODES = 2_048;
const NODES_MIN = 1_024;
/** Numbers of records a millisecond, so that those of the next process are higher. */
const NUMBERS_A_MS = 1_000;

export class EarlyAnswers {
  readonly #deps: EarlyAnswersDeps;
  #isOpen = false;
  #isAllowed = false;
  #wasAllowed = false;
  /** Node ids that the drive has left, of which epoch; others are on their way. */
  #nodes = { epoch: "", left: 0 };
  #areNodesAsked = false;

  constructor(deps: EarlyAnswersDeps) {
    this.#deps = deps;
  }

  /** The drive may answer now. */
  get isAllowed(): boolean {
    return this.#isAllowed;
  }

  /** Lists what a killed process left that is not in the journal, in its order. */
  left(): (DriveRequest & Early)[] {
    const { earlyLog, journal } = this.#deps;
    const records = [...journal.operations(), ...journal.pending(), ...journal.unverified()];
    const recorded = new Set(records.map(({ early }) => early));
    return earlyLog.left.requests.filter(({ earlyNumber }) => !recorded.has(earlyNumber));
  }

  /** Called when what was left has been taken in: the drive may answer from here on (`isOn`), when `renew` says so. */
  begin(isOn: boolean): void {
    const { drive, clock, earlyLog } = this.#deps;
    const { last } = earlyLog.left;
    if (!isOn && last === 0) return;
    const next = Math.max(last + 1, wallMs(clock) * NUMBERS_A_MS);
    this.#isOpen = drive.openEarlyLog(earlyLog.path, earlyLog.boot, next);
  }

  /** The drive may answer if nobody else can change anything, and nothing is in the way here: `isFree`. */
  renew(isFree: boolean): void {
    const { session, pauses, journal, changes } = this.#deps;
    const isAllowed =
      this.#isOpen &&
      isFree &&
      session.isResponsive &&
      !session.mayOnlyRead &&
      session.writeLeases.held.has(ROOT_NODE) &&
      pauses.isEmpty &&
      !changes.hasOutstanding &&
      journal.numbersLeft > NUMBERS_KEPT &&
      journal.problem() === undefined;
    if (isAllowed) this.#giveNodes();
    if (isAllowed !== this.#isAllowed) this.#allow(isAllowed);
  }

  /** The drive has made something with one of its node ids. */
  made(): void {
    this.#nodes.left--;
  }

  #giveNodes(): void {
    const { session, drive, epoch, isOwnerShown, log } = this.#deps;
    if (this.#nodes.epoch !== epoch()) {
      this.#nodes = { epoch: epoch(), left: 0 };
      drive.giveNodes(0, 0);
    }
    if (!isOwnerShown || this.#areNodesAsked || this.#nodes.left >= NODES_MIN) return;
    this.#areNodesAsked = true;
    const { epoch: asked } = this.#nodes;
    session.nodes
      .newNodes(NODES)
      .then(([first, count]) => {
        if (asked !== epoch()) return;
        drive.giveNodes(first, count);
        this.#nodes = { epoch: asked, left: count };
      })
      .catch((error: unknown) => log("The drive could not be given node ids.", error))
      .finally(() => (this.#areNodesAsked = false));
  }

  /** From this moment on it answers none. What it has answered is on its way to this side. */
  stop(): void {
    if (this.#isAllowed) this.#allow(false);
  }

  /** The same; resolves when this side has heard of all that it has answered. */
  async stopped(): Promise<void> {
    this.stop();
    if (this.#wasAllowed) await this.#deps.drive.given();
  }

  #allow(isAllowed: boolean): void {
    this.#isAllowed = isAllowed;
    this.#wasAllowed = true;
    this.#deps.drive.allowEarly(isAllowed);
  }
}
