// Keeps the app up to date: looks once a day whether a newer version was signed, downloads it while the line may be
// used, and has it ready for a person to restart into. Nothing is downloaded, and nothing offered, that the signed list
// does not name; nothing is installed unless a person asks for it.
import { type Clock, isRunnelError, RunnelError, type Timer, wallMs } from "@runnel/shared";
import { type FeedPlace, isNewer, readSignedFeed } from "../../cli/updates/signed-feed.ts";
import { checkFile, type SignedUpdate, signedUpdate } from "./signed-update.ts";
import type { FileFacts, Updater } from "./updater.ts";

/** After the app was started: drives come first. */
export const FIRST_LOOK_MS = 60_000;
export const NEXT_LOOK_MS = 86_400_000;
/** While the line may not be used. */
export const LINE_LOOK_MS = 900_000;

const SAID_CHARACTERS_MAX = 300;

/** Version of this copy of the app, whom it believes, and how it comes to a newer one. */
export interface UpdateSource {
  /** Version of this copy. */
  current: string;
  place: FeedPlace;
  updater: Updater;
  /** Fetches the signed list. @throws RunnelError */
  fetchList(url: string): Promise<string>;
  /** Reads a file that was downloaded. */
  look(path: string): Promise<FileFacts>;
  /** Removes one that is not what it should be: it would be taken for what it should be. */
  discard(path: string): Promise<void>;
  log(sentence: string): void;
}

export interface UpdatesDeps extends UpdateSource {
  clock: Clock;
  /** Why nothing may be downloaded now; undefined: it may. */
  whyWait(): Promise<string | undefined>;
  /** Another version is ready, or none any more. */
  changed(): void;
  /** A person has asked for the update, and it was not installed: a sentence. */
  failed(sentence: string): void;
}

interface Ready {
  update: SignedUpdate;
  path: string;
}

export class Updates {
  readonly #deps: UpdatesDeps;
  #ready: Ready | undefined;
  #timer: Timer | undefined;
  #isLooking = false;
  #isClosed = false;
  #said = "";

  constructor(deps: UpdatesDeps) {
    this.#deps = deps;
    this.#lookAfter(FIRST_LOOK_MS);
  }

  /** Version that a restart installs. */
  get readyVersion(): string | undefined {
    return this.#ready?.update.version;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /**
   * Installs what is ready, which ends the app; the agent and its drives stay.
   * @throws RunnelError with a sentence when it is not any more what was signed
   */
  async install(): Promise<void> {
    const ready = this.#ready;
    if (ready === undefined) return;
    try {
      await this.#check(ready);
    } catch (error) {
      this.#setReady(undefined);
      const sentence = "What was downloaded is not what was signed, or is gone. It is downloaded again.";
      this.#say(sentenceOf(error));
      this.#lookAfter(0);
      throw new RunnelError("Denied", "update the app", sentence, { cause: error });
    }
    // A newer one is coming meanwhile.
    if (this.#ready !== ready) return;
    this.#deps.updater.install((cause) => {
      this.#say(`${ready.update.version} was not installed: ${sentenceOf(cause)}`);
      this.#deps.failed(`${ready.update.version} could not be installed. The version that runs stays.`);
    });
  }

  #lookAfter(delayMs: number): void {
    this.#timer?.cancel();
    if (!this.#isClosed) this.#timer = this.#deps.clock.after(delayMs, () => void this.look(), true);
  }

  /** Looks now. Resolves when what came of it is known; a look that goes on says itself when the next one is. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let nextMs = NEXT_LOOK_MS;
    try {
      nextMs = await this.#attempt();
    } catch (error) {
      this.#say(sentenceOf(error));
    }
    this.#isLooking = false;
    this.#lookAfter(nextMs);
  }

  /** Resolves to when to look again. @throws RunnelError when what is offered is refused, and what the engine throws */
  async #attempt(): Promise<number> {
    const { clock, current, place, updater, fetchList, whyWait } = this.#deps;
    const list = readSignedFeed(await fetchList(place.url), place.keys, wallMs(clock));
    if (this.readyVersion !== undefined && this.readyVersion === list.version) return NEXT_LOOK_MS;
    // It was taken back, or there is a newer one.
    this.#setReady(undefined);
    if (!isNewer(list.version, current)) return NEXT_LOOK_MS;
    const offered = await updater.look();
    if (offered === undefined)
      throw new RunnelError(
        "Denied",
        "update the app",
        `${list.version} was signed, and the feed of the app has no such.`,
      );
    const update = signedUpdate(list, offered, current);
    const why = await whyWait();
    if (why !== undefined) {
      this.#say(`${update.version} waits. ${why}`);
      return LINE_LOOK_MS;
    }
    const path = await updater.download(Math.max(...update.files.map(({ sizeBytes }) => sizeBytes)));
    await this.#check({ update, path });
    if (this.#isClosed) return NEXT_LOOK_MS;
    this.#setReady({ update, path });
    this.#say(`${update.version} is ready.`);
    return NEXT_LOOK_MS;
  }

  /** @throws RunnelError where the file is not what was signed: it is gone then */
  async #check({ update, path }: Ready): Promise<void> {
    const { look, discard } = this.#deps;
    try {
      checkFile(update, await look(path));
    } catch (error) {
      await discard(path);
      throw error;
    }
  }

  #setReady(ready: Ready | undefined): void {
    const before = this.readyVersion;
    this.#ready = ready;
    if (before !== this.readyVersion) this.#deps.changed();
  }

  /** The same is said once. */
  #say(sentence: string): void {
    if (sentence === this.#said) return;
    this.#said = sentence;
    this.#deps.log(sentence);
  }
}

/** Words of others are cut: an answer of a server may stand in them. */
function sentenceOf(error: unknown): string {
  if (isRunnelError(error)) return error.message;
  const text = error instanceof Error ? error.message : String(error);
  const [line = ""] = text.split("\n");
  return `The app was not updated: ${JSON.stringify(line.slice(0, SAID_CHARACTERS_MAX))}`;
}
