// Changes that the drive answers before this side hears of them: when it may, and what a killed process left of them.
import type { Drive, DriveRequest, Early } from "@runnel/native/drive";
import { leftEarly } from "@runnel/native/drive";
import type { Clock } from "@runnel/shared";
import { ROOT_NODE, wallMs } from "@runnel/shared";
import type { Journal } from "../journal/journal.ts";
import type { Passages } from "../pauses/passages.ts";
import type { Session } from "../wire/session.ts";
import type { OwnChanges } from "./own-changes.ts";

/** The file that keeps them until this side has them in its journal; `boot` "": there is none. */
export interface EarlyLog {
  path: string;
  boot: string;
}

export interface EarlyAnswersDeps {
  drive: Drive;
  clock: Clock;
  session: Session;
  pauses: Passages;
  journal: Journal;
  changes: OwnChanges;
  earlyLog: EarlyLog;
}

/** Numbers of changes that are kept for what the drive may answer before this side says that it may not. */
const NUMBERS_KEPT = 6_000;
/** Numbers of records a millisecond, so that those of the next process are higher. */
const NUMBERS_A_MS = 1_000;

export class EarlyAnswers {
  readonly #deps: EarlyAnswersDeps;
  #isOpen = false;
  #isAllowed = false;
  #wasAllowed = false;
  /** Highest number that former processes gave. */
  #last = 0;

  constructor(deps: EarlyAnswersDeps) {
    this.#deps = deps;
  }

  /** Lists what a killed process left that is not in the journal, in its order. */
  left(): (DriveRequest & Early)[] {
    const { earlyLog, journal } = this.#deps;
    const recorded = journal.operations().reduce((highest, { early = 0 }) => Math.max(highest, early), 0);
    const { requests, last } = leftEarly(earlyLog.path, earlyLog.boot);
    this.#last = last;
    return requests.filter(({ earlyNumber }) => earlyNumber > recorded);
  }

  /** Called when what was left has been taken in: the drive may answer from here on (`isOn`), when `renew` says so. */
  begin(isOn: boolean): void {
    const { drive, clock, earlyLog } = this.#deps;
    if (!isOn && this.#last === 0) return;
    const next = Math.max(this.#last + 1, wallMs(clock) * NUMBERS_A_MS);
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
    if (isAllowed !== this.#isAllowed) this.#allow(isAllowed);
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
