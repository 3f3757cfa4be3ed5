// Start at login: an entry by which the system starts a command of Runnel whenever this user logs in. Each system has
// engines for such entries in host/; here is whose an entry is, and that nobody else's is changed.
import { fromSystemError, RunnelError } from "@runnel/shared/base";

/** A place where a system looks for what to start. */
export interface LoginEntry {
  /** Names where it lies, for a person. */
  readonly place: string;
  /** Reads what lies there, whoever made it. */
  read(): Promise<FoundEntry | undefined>;
  /** Puts an entry into words of the system. @throws RunnelError Invalid for a command that it has no words for */
  textOf(command: readonly string[]): string;
  /** True for what `textOf` has made, also for another command. */
  isOurs(text: string): boolean;
  /** Replaces what lies there. @throws RunnelError */
  write(text: string): Promise<void>;
  /** Removes what lies there, if anything does. @throws RunnelError */
  remove(): Promise<void>;
}

export interface FoundEntry {
  text: string;
  /** It came with a package, and starts what the package has. */
  isOfPackage?: boolean;
}

/** `moved`: another program than this one is started, as one that lay elsewhere; `foreign`: somebody else's entry. */
export type StartState = "off" | "on" | "moved" | "foreign";

export interface StartLook {
  state: StartState;
  place: string;
  /** A sentence that says why this program cannot be started, or null where it can. */
  obstacle: string | null;
}

const OPERATION = "start at login";

export class LoginStart {
  readonly #entries: readonly [LoginEntry, ...LoginEntry[]];
  readonly #command: readonly string[];

  /** `entries`: the first is made; all are looked at, and removed. */
  constructor(entries: readonly [LoginEntry, ...LoginEntry[]], command: readonly string[]) {
    this.#entries = entries;
    this.#command = command;
  }

  async look(): Promise<StartLook> {
    const looks: StartLook[] = [];
    const obstacle = this.#obstacle();
    for (const entry of this.#entries) {
      const state = await this.#stateOf(entry);
      looks.push({ state, place: entry.place, obstacle: state === "foreign" ? foreignAt(entry.place) : obstacle });
    }
    const first = looks[0] as StartLook;
    const ofState = (state: StartState): StartLook | undefined => looks.find((look) => look.state === state);
    return ofState("on") ?? ofState("moved") ?? first;
  }

  /** @throws RunnelError Exists where somebody else's entry has the place; Invalid, and of the system */
  async set(starts: boolean): Promise<StartLook> {
    const [best, ...others] = this.#entries;
    if (starts) {
      const text = best.textOf(this.#command);
      const state = await this.#stateOf(best);
      if (state === "foreign") throw new RunnelError("Exists", OPERATION, foreignAt(best.place));
      if (state !== "on") await best.write(text);
    }
    for (const entry of starts ? others : this.#entries)
      if (["on", "moved"].includes(await this.#stateOf(entry))) await entry.remove();
    return this.look();
  }

  /** Says why the entry that would be made cannot be. */
  #obstacle(): string | null {
    try {
      this.#entries[0].textOf(this.#command);
      return null;
    } catch (error) {
      return fromSystemError(error, OPERATION).message;
    }
  }

  async #stateOf(entry: LoginEntry): Promise<StartState> {
    const found = await entry.read();
    if (found === undefined) return "off";
    if (found.isOfPackage === true) return "on";
    if (!entry.isOurs(found.text)) return "foreign";
    return found.text === textIfAny(entry, this.#command) ? "on" : "moved";
  }
}

function foreignAt(place: string): string {
  return `Somebody else's entry is at ${place}. Look at it, and move it away.`;
}

/** A program that no entry can start is not the one that an entry starts. */
function textIfAny(entry: LoginEntry, command: readonly string[]): string | undefined {
  try {
    return entry.textOf(command);
  } catch {
    return undefined;
  }
}

/** @throws RunnelError Invalid for a command that the lines of a file cannot hold. */
export function checkPrintable(command: readonly string[]): void {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  if (command.every((word) => !/[\0-\u001f\u007f]/.test(word) && word.isWellFormed())) return;
  const sentence = "Runnel, or its folder, has a path with a line break or another control character. Move it.";
  throw new RunnelError("Invalid", OPERATION, sentence);
}
