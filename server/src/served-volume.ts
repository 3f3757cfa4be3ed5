// A volume on offer: open, or not now and why. One whose folder goes is let go whole, with all that is open in the
// folder, and opened again when the right folder is at its path [F110]: what a start finds and what a running server
// meets is one thing.
import type { Clock, Timer } from "@runnel/shared";
import { RunnelError, fromSystemError, isRunnelError } from "@runnel/shared";
import { Traffic } from "./live/traffic.ts";
import type { Volume } from "./volume/volume.ts";

/**
 * Interval at which a folder that is gone, or back, is noticed: 2 s are promised [F110], with as much again for slow
 * disks.
 */
const PROBE_MS = 1_000;
/** The pause after a probe that promised too much doubles up to this: opening reads the whole index. */
const PROBE_PAUSE_MS_MAX = 30_000;
/** Interval at which a person is told how far the first scan has come. */
const REPORT_MS = 3_000;
/** When a client that came too early may ask again. */
const ASK_AGAIN_MS = 2_000;

export interface OpenedVolume {
  volume: Volume;
  folder: string;
  /** Called after the volume is closed. */
  release(): Promise<void>;
}

export interface Offer {
  name: string;
  folder: string;
  /** It is not to be opened at the start. */
  isStopped?: boolean;
  /**
   * @throws RunnelError with a sentence for a person; Unavailable while the folder is not there: then it is probed
   * again.
   */
  probe(): Promise<void>;
  /** @throws as probe. `gone` may be told once, any time from here on. */
  open(gone: (reason: string) => void): Promise<OpenedVolume>;
}

export interface ServedVolumeDeps {
  clock: Clock;
  /** Told of the volume each time that it is open, before anybody is let in. */
  opened?(volume: Volume): void;
  /** Ends the volume's attachments with this error. */
  ended: (volume: Volume, error: RunnelError) => void;
  warn(message: string, error?: unknown): void;
}

export class ServedVolume {
  readonly name: string;
  readonly folder: string;
  readonly offer: Offer;
  readonly #deps: ServedVolumeDeps;
  #opened: OpenedVolume | undefined;
  /** Open, but nothing is shown of it yet. */
  #firstScan: Volume | undefined;
  /** Why it is not open. */
  #why: string | undefined;
  #timer: Timer | undefined;
  #pauseMs = PROBE_MS;
  /** Work under way: one thing after another. */
  #work: Promise<void> = Promise.resolve();
  readonly #closing = Promise.withResolvers<void>();
  #isClosed = false;
  #isStopped: boolean;
  /** Counts of openings before this one. */
  readonly #before: Traffic;

  /** `stopped`: why it is not to be opened before `resume`. */
  constructor(offer: Offer, deps: ServedVolumeDeps, stopped?: string, before = new Traffic()) {
    this.#before = before;
    this.offer = offer;
    this.#deps = deps;
    this.#why = stopped;
    this.#isStopped = stopped !== undefined;
    this.name = offer.name;
    this.folder = offer.folder;
  }

  /** Returns the volume, or undefined while it is not open. */
  get volume(): Volume | undefined {
    return this.#opened?.volume;
  }

  /** Why not; undefined: it is, or is just being opened. */
  get unavailable(): string | undefined {
    return this.#why;
  }

  /** Counts of contents and of their data on the wire since the server's start. */
  get traffic(): Traffic {
    const traffic = new Traffic();
    traffic.add(this.#before);
    if (this.#opened !== undefined) traffic.add(this.#opened.volume.traffic);
    return traffic;
  }

  /** True from when it was stopped until it is resumed. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** True while it is being opened for the first time since it came. */
  get isOpening(): boolean {
    return this.#opened === undefined && this.#why === undefined;
  }

  /** Opens one that was stopped, in the background; what comes of that shows in `unavailable`. */
  resume(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    this.#why = undefined;
    this.#work = this.#probe();
  }

  /** @throws Unavailable, Busy, with a sentence for whoever mounts it. */
  mustBeOpen(): Volume {
    if (this.#opened !== undefined) return this.#opened.volume;
    if (this.#why !== undefined) throw refusal(this.name, this.#why);
    const firstScan = this.#firstScan;
    const sentence =
      firstScan === undefined
        ? `The server is still opening ${this.name}. Try again in a moment.`
        : `The server is still taking in the folder of ${this.name}: ${entries(firstScan)} so far. Try again in a while.`;
    throw new RunnelError("Busy", "attach", sentence, { detail: { retryAfterMs: ASK_AGAIN_MS } });
  }

  /** Resolves when it is open, or is known not to be for now. @throws RunnelError when waiting does not mend it. */
  async start(): Promise<void> {
    this.#work = this.offer.probe().then(() => this.#open());
    try {
      await this.#work;
    } catch (error) {
      const why = await this.#whyGone(error);
      if (why === undefined) throw error;
      this.#notNow(why);
    }
  }

  /**
   * Opens it; resolves once it is open, or after `waitMs`, whichever comes first. What fails later shows in
   * `unavailable`. @throws as `start`.
   */
  async startWithin(waitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    let isLate = false;
    const timer = this.#deps.clock.after(waitMs, () => {
      isLate = true;
      over.resolve();
    });
    const started = this.start().catch((error: unknown) => {
      if (!isLate) throw error;
      this.#deps.warn(`The volume ${this.name} cannot be opened.`, error);
      this.#notNow(`it cannot be opened (${fromSystemError(error, "serve").kind}).`);
    });
    await Promise.race([started, over.promise]);
    timer.cancel();
  }

  /**
   * A folder that goes while it is being opened fails in whatever was just done in it. undefined: it is there, and the
   * failure another one.
   */
  async #whyGone(failure: unknown): Promise<string | undefined> {
    if (isRunnelError(failure, "Unavailable")) return failure.message;
    try {
      await this.offer.probe();
      return undefined;
    } catch (now) {
      return isRunnelError(now, "Unavailable") ? now.message : undefined;
    }
  }

  /** `ended` is told of the volume that was open, and of the error with which it ends for `why`. */
  async close(ended?: (volume: Volume, error: RunnelError) => void, why = ""): Promise<void> {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#closing.resolve();
    await this.#work.catch(() => undefined);
    if (this.#opened !== undefined) ended?.(this.#opened.volume, refusal(this.name, why));
    await this.#release();
  }

  async #open(): Promise<void> {
    let reason: string | undefined;
    const opened = await this.offer.open((why) => {
      reason = why;
      if (this.#opened !== undefined) this.#lose(why);
    });
    try {
      const { volume } = opened;
      if (volume.isNew) await this.#scanFirst(volume);
      if (reason !== undefined) throw new RunnelError("Unavailable", "serve", reason);
    } catch (error) {
      await this.#end(opened);
      throw error;
    }
    this.#deps.opened?.(opened.volume);
    this.#opened = opened;
    this.#why = undefined;
    this.#pauseMs = PROBE_MS;
    this.#watch(opened);
  }

  #watch(opened: OpenedVolume): void {
    if (this.#isClosed || this.#opened !== opened) return;
    this.#timer = this.#deps.clock.after(PROBE_MS, () => {
      // Findings are reported by `gone`.
      opened.volume.content.checkRoot().then(
        () => this.#watch(opened),
        () => this.#watch(opened),
      );
    });
  }

  /** Scans the folder before anything is shown, so that nobody takes a folder that was never read for an empty one. */
  async #scanFirst(volume: Volume): Promise<void> {
    this.#firstScan = volume;
    this.#why = undefined;
    const { clock, warn } = this.#deps;
    let isReported = false;
    let timer: Timer | undefined;
    const reportLater = (): void => {
      timer = clock.after(REPORT_MS, () => {
        warn(`Taking in the folder of ${this.name}: ${entries(volume)} so far.`);
        isReported = true;
        reportLater();
      });
    };
    reportLater();
    try {
      await Promise.race([volume.firstScan, this.#closing.promise]);
      if (isReported) warn(`The folder of ${this.name} is taken in.`);
    } finally {
      timer?.cancel();
      this.#firstScan = undefined;
    }
  }

  #lose(why: string): void {
    const opened = this.#opened;
    if (opened === undefined || this.#isClosed) return;
    this.#opened = undefined;
    this.#notNow(why);
    this.#deps.ended(opened.volume, refusal(this.name, why));
    this.#work = this.#end(opened);
  }

  async #release(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await this.#end(opened);
  }

  async #end(opened: OpenedVolume | undefined): Promise<void> {
    if (opened !== undefined) this.#before.add(opened.volume.traffic);
    try {
      await opened?.volume.close();
      await opened?.release();
    } catch (error) {
      this.#deps.warn(`The volume ${this.name} did not end cleanly.`, error);
    }
  }

  /** Whoever runs the server is told when it is news. */
  #notNow(why: string): void {
    if (this.#why !== why)
      this.#deps.warn(
        `The volume ${this.name} cannot be served now: ${why} It is served as soon as the right folder is at ${this.folder}.`,
      );
    this.#why = why;
    this.#probeLater();
  }

  #probeLater(): void {
    if (this.#isClosed) return;
    this.#timer = this.#deps.clock.after(this.#pauseMs, () => {
      this.#work = this.#work.catch(() => undefined).then(() => this.#probe());
    });
  }

  async #probe(): Promise<void> {
    if (this.#isClosed) return;
    const before = this.#why;
    let isThere = false;
    try {
      await this.offer.probe();
      isThere = true;
      await this.#open();
      this.#deps.warn(`The volume ${this.name} is served now.`);
    } catch (error) {
      const { kind, message } = fromSystemError(error, "serve");
      this.#pauseMs = isThere ? Math.min(2 * this.#pauseMs, PROBE_PAUSE_MS_MAX) : PROBE_MS;
      const why = kind === "Unavailable" ? message : `it cannot be opened (${kind}).`;
      if (kind !== "Unavailable" && why !== before) this.#deps.warn(`The volume ${this.name} cannot be opened.`, error);
      // Progress shown meanwhile, for instance that the folder is being taken in, is over.
      this.#why = before;
      this.#notNow(why);
    }
  }
}

function refusal(name: string, why: string): RunnelError {
  return new RunnelError(
    "Unavailable",
    "attach",
    `The server cannot serve ${name} now: ${why} It goes on as soon as that is settled.`,
  );
}

function entries(volume: Volume): string {
  const count = volume.content.status().scan?.done ?? 0;
  return count === 1 ? "1 entry" : `${count} entries`;
}
